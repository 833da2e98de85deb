import type { FilePart, Message } from '../core/message.js';

export interface RunFile {
  readonly run: string;
  /** The number of the file among those of the run's input and messages. */
  readonly index: number;
}

const FILE_PARAMETER = 'file';

export const fileAddress = (url: string, { run, index }: RunFile): string =>
  `${url}${url.includes('?') ? '&' : '?'}${FILE_PARAMETER}=${run}.${index}`;

/** Undefined if it is another address. */
export function readFileAddress(address: string): RunFile | undefined {
  const [, run, index] = /[?&]file=([0-9a-f-]{32,36})\.(\d{1,6})$/i.exec(address) ?? [];
  return run === undefined ? undefined : { run, index: Number(index) };
}

export const filesIn = (messages: readonly Message[]): readonly FilePart[] =>
  messages.flatMap(({ parts }) => parts.filter((part): part is FilePart => part.type === 'file'));

/** A page sends and a service reads so many bytes: six photos of 2 MB, in base64. */
export const MAX_PROMPT_BYTES = 20_971_520;
