import { concatMap } from 'rxjs';
import type { Observable } from 'rxjs';
import { askTool, tool } from 'rivulet';
import * as z from 'zod';

/**
 * A tool that asks with a form of six fields, one of each kind, between two steps.
 *
 * @param step Does a step. It receives its name and its idempotency key.
 */
export const registerTool = (step: (name: string, key: string) => Observable<string> | string) =>
  askTool({
    name: 'register',
    description: 'Registers a visitor.',
    execute: (_, { ask, once }) =>
      once('reserve', (key) => step('reserve', key)).pipe(
        concatMap(() =>
          ask({
            message: 'Who comes to visit?',
            schema: z.object({
              name: z.string().min(2).meta({ title: 'Name' }),
              people: z.int().min(1).meta({ title: 'Number of people' }),
              entrance: z.enum(['North', 'South']).meta({ title: 'Entrance' }),
              needs: z.array(z.enum(['Parking', 'Lunch'])).meta({ title: 'Needs' }),
              day: z.iso.date().meta({ title: 'Day' }),
              photo: z.string().optional().meta({ title: 'Photo', contentEncoding: 'base64' }),
            }),
          }),
        ),
        concatMap((visitor) => once('badge', (key) => step('badge', key)).pipe(concatMap(() => [visitor]))),
      ),
  });

/** What a person fills in. */
export const visitor = (name: string) => ({
  name,
  people: 3,
  entrance: 'South',
  needs: ['Lunch'],
  day: '2026-12-24',
  photo: Buffer.from('Hi').toString('base64'),
});

/** Waits for an approval. */
export const note = tool({
  name: 'write_note',
  description: 'Writes a note.',
  parameters: z.object({ text: z.string() }),
  needsApproval: true,
  execute: ({ text }) => `${text} is noted.`,
});
