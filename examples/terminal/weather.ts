import { defer, map, timer, zip } from 'rxjs';
import { progress, tool } from 'rivulet';
import * as z from 'zod';
import { weatherTable } from './weatherTable.js';
import type { Weather } from './weatherTable.js';

/** Milliseconds between two steps of a look-up, so that its progress can be watched. */
const stepTime = 200;

/** A tool that returns an Observable: the marked values are progress, the last one is the result. */
export const weather = tool({
  name: 'weather',
  description: 'The current weather of one city: temperature in degrees Celsius, sky, wind in km/h.',
  parameters: z.object({ city: z.string().describe('The name of the city in English, without the country') }),
  execute: ({ city }) => defer(() => lookUp(weatherOf(city))),
});

const lookUp = (found: Weather) =>
  zip(
    [progress(`looking up ${found.city}`), progress('asking the station'), progress('reading its instruments'), found],
    timer(0, stepTime),
  ).pipe(map(([step]) => step));

function weatherOf(city: string): Weather {
  const wanted = city.trim().toLowerCase();
  const found = weatherTable.find((row) => row.city.toLowerCase() === wanted);
  if (found) return found;
  throw new Error(
    `There is no weather for "${city}". Known cities: ${weatherTable.map((row) => row.city).join(', ')}.`,
  );
}
