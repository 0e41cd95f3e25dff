/**
 * For the top of a node: speaks to the host over the channel's descriptor by hand, past the harness, which shares its
 * process and hears nothing of it while the node does not yield.
 *
 * `ask(method, url, headers, body)` gives the status and text of the answer, or `'closed'` when the host ends the channel
 * first; it may wait for ever where none comes. `tell` is the same and does not wait. `send(bytes)` writes anything; `frame(type, id, payload)` makes a frame. Numbers are those of docs/channel.md.
 */
export const forger = `
import fs from 'node:fs';
let lastId = 20001;
// A socket goes both ways; of two pipes the second is what the cell says.
const toHost = fs.fstatSync(3).isSocket() ? 3 : 4;
const frame = (type, id, payload = Buffer.alloc(0)) => {
  const header = Buffer.alloc(12);
  header.writeUInt32BE(payload.length, 0); header.writeUInt8(type, 4); header.writeUInt32BE(id, 8);
  return Buffer.concat([header, payload]);
};
const send = (bytes) => {
  const until = Date.now() + 2000;
  for (let at = 0; at < bytes.length; ) try { at += fs.writeSync(toHost, bytes, at); } catch (e) { if (e.code !== 'EAGAIN' || Date.now() > until) throw e; }
};
let rest = Buffer.alloc(0);
const receive = () => {
  const chunk = Buffer.alloc(65536);
  for (const until = Date.now() + 2000; Date.now() < until; ) {
    if (rest.length >= 12 && rest.length >= 12 + rest.readUInt32BE(0)) {
      const end = 12 + rest.readUInt32BE(0);
      const got = { type: rest.readUInt8(4), id: rest.readUInt32BE(8), payload: rest.subarray(12, end) };
      rest = rest.subarray(end);
      return got;
    }
    let n; try { n = fs.readSync(3, chunk, 0, chunk.length, null); } catch (e) { if (e.code === 'EAGAIN') continue; return undefined; }
    if (n === 0) return undefined;
    rest = Buffer.concat([rest, chunk.subarray(0, n)]);
  }
  return undefined;
};
const tell = (method, url, headers = {}, body = '') => {
  const id = (lastId += 2);
  send(frame(2, id, Buffer.from(JSON.stringify([method, url, ...Object.entries(headers).flat()]))));
  if (body !== '') send(frame(4, id, Buffer.from(body)));
  send(frame(5, id));
  return id;
};
const ask = (...request) => {
  const id = tell(...request);
  let status, text = '';
  for (let got = receive(); got; got = receive()) {
    if (got.id !== id) continue;
    if (got.type === 3) status = JSON.parse(got.payload.toString())[0];
    else if (got.type === 4) text += got.payload.toString();
    else if (got.type === 6) return { status: 'reset', text: got.payload.toString() };
    else if (got.type === 5) return { status, text };
  }
  return 'closed';
};
`;
