import { appendFile } from 'node:fs/promises';
import { concatMap, interval, map, scan, take } from 'rxjs';
import { askTool, progress, tool } from 'rivulet';
import * as z from 'zod';

const slices = 200;

/** Runs here, and reports its progress. Each slice is a task of its own, so the service answers others meanwhile. */
const countPrimes = tool({
  name: 'count_primes',
  description: 'Counts the prime numbers below a number.',
  parameters: z.object({ below: z.int().min(2).max(20_000_000) }),
  execute: ({ below }) =>
    interval(0).pipe(
      take(slices),
      scan((found, slice) => found + primesBetween(startOf(slice, below), startOf(slice + 1, below)), 0),
      map((found, slice) => (slice + 1 < slices ? progress({ percent: (100 * slice) / slices, found }) : found)),
    ),
});

const startOf = (slice: number, below: number) => Math.max(2, Math.ceil((slice * below) / slices));

function primesBetween(first: number, below: number): number {
  let count = 0;
  for (let number = first; number < below; number++) if (isPrime(number)) count += 1;
  return count;
}

function isPrime(number: number): boolean {
  if (number % 2 === 0) return number === 2;
  for (let divisor = 3; divisor * divisor <= number; divisor += 2) if (number % divisor === 0) return false;
  return true;
}

/** Runs here, once the user has allowed it. */
const saveNote = (file: URL) =>
  tool({
    name: 'save_note',
    description: 'Appends a note to the file notes.md of the service.',
    parameters: z.object({ note: z.string().min(1) }),
    needsApproval: true,
    execute: ({ note }) => appendFile(file, `- ${note}\n`).then(() => 'saved'),
  });

/** Runs in the browser: see src/app/tools.ts. */
const localTime = tool({
  name: 'local_time',
  description: "The user's time, time zone and language.",
  parameters: z.object({}),
});

/** The user answers, with a click: see src/app/tool-call.ts. */
const chooseColour = tool({
  name: 'choose_colour',
  description: 'Lets the user choose one of several colours (CSS), which becomes the colour of the page.',
  parameters: z.object({ colours: z.array(z.string()).min(2).max(8) }),
  result: z.string(),
});

/** Asks the user in the middle of its work, with a form: see src/app/question.ts. */
const registerVisitor = askTool({
  name: 'register_visitor',
  description: 'Registers a visitor. The user fills in a form.',
  execute: (_, { ask, once }) =>
    ask({
      message: 'Who comes to visit?',
      schema: z.object({
        name: z.string().min(2).meta({ title: 'Name' }),
        people: z.int().min(1).max(9).meta({ title: 'Number of people' }),
        entrance: z.enum(['North', 'South']).meta({ title: 'Entrance' }),
        needs: z.array(z.enum(['Parking', 'Lunch', 'Wi-Fi'])).meta({ title: 'What they need' }),
        day: z.iso.date().meta({ title: 'Day' }),
        photo: z.string().meta({ title: 'Photo', contentEncoding: 'base64' }).optional(),
      }),
    }).pipe(concatMap(({ photo, ...visitor }) => once('badge', (key) => ({ ...visitor, badge: key.slice(0, 8) })))),
});

/** @param notes The file of the notes. Default: notes.md of the service. */
export const chatTools = (notes = new URL('../notes.md', import.meta.url)) => [
  countPrimes,
  saveNote(notes),
  localTime,
  chooseColour,
  registerVisitor,
];
