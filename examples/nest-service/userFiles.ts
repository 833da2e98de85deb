import { tool } from 'rivulet';
import * as z from 'zod';

/** Who asks. */
export interface User {
  readonly id: string;
}

/** The files of each user, by the user's id. In memory: a service would use its database. */
const files = new Map<string, Map<string, string>>();

const filesOf = ({ id }: User) => {
  const own = files.get(id) ?? new Map<string, string>();
  files.set(id, own);
  return own;
};

/** A tool knows the user from the run's context, which the model cannot change. */
export const writeFile = tool({
  name: 'write_file',
  description: 'Writes a text file of the user.',
  parameters: z.object({ path: z.string(), text: z.string().max(10_000) }),
  needsApproval: true,
  execute: ({ path, text }, { context }: { context: User }) => {
    filesOf(context).set(path, text);
    return `${path} was written.`;
  },
});

export const readFile = tool({
  name: 'read_file',
  description: 'Reads a text file of the user.',
  parameters: z.object({ path: z.string() }),
  execute: ({ path }, { context }: { context: User }) => {
    const text = filesOf(context).get(path);
    if (text !== undefined) return text;
    throw new Error(`There is no ${path}. There are: ${[...filesOf(context).keys()].join(', ') || 'no files'}.`);
  },
});
