import { defineNode } from '@glovebox/sdk';
import MarkdownIt from 'markdown-it';

interface Input {
  markdown: string;
}

interface Config {
  linkify?: boolean;
  typographer?: boolean;
}

interface Output {
  html: string;
  headings: { level: number; text: string }[];
}

export default defineNode<Input, Config, Output>(async (ctx) => {
  const { linkify = false, typographer = false } = ctx.config;
  const renderer = new MarkdownIt({ html: false, linkify, typographer });
  const tokens = renderer.parse(ctx.input.markdown, {});
  const headings = tokens.flatMap((token, i) =>
    token.type === 'heading_open' ? [{ level: Number(token.tag.slice(1)), text: tokens[i + 1]?.content ?? '' }] : [],
  );
  return { html: renderer.renderer.render(tokens, renderer.options, {}), headings };
});
