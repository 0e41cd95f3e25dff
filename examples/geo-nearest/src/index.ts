import { defineNode, NodeError } from '@glovebox/sdk';
import { around, distance } from 'geokdbush';
import KDBush from 'kdbush';

interface Place {
  id: string;
  latitude: number;
  longitude: number;
}

interface Input {
  places: Place[];
  points: { latitude: number; longitude: number }[];
}

interface Config {
  count?: number;
  maxKm?: number;
}

interface Output {
  matches: { id: string; km: number }[][];
}

export default defineNode<Input, Config, Output>(async (ctx) => {
  const { places, points } = ctx.input;
  const { count = 3, maxKm = Number.POSITIVE_INFINITY } = ctx.config;
  if (places.length === 0) throw new NodeError('NO_PLACES', 'places is empty: nothing can be near');
  const index = new KDBush(places.length);
  for (const { longitude, latitude } of places) index.add(longitude, latitude);
  index.finish();
  ctx.log.info('indexed', { places: places.length });
  const matches = points.map(({ longitude, latitude }) =>
    around(index, longitude, latitude, count, maxKm).map((i) => {
      const place = places[i as number] as Place;
      const km = distance(longitude, latitude, place.longitude, place.latitude);
      return { id: place.id, km: Math.round(km * 1000) / 1000 };
    }),
  );
  return { matches };
});
