import type { OfType } from '../core/typesOf.js';
import type { Message, Part } from '../core/message.js';
import type { View } from '../operators/view/view.js';
import { filesIn, type RunFile } from '../transport/runFiles.js';

interface HasFiles {
  readonly run: string;
  readonly input: readonly Message[];
  readonly messages: readonly Message[];
  readonly view: View;
  readonly base?: View | undefined;
  readonly hasBegun?: boolean | undefined;
  readonly answers?: object | undefined;
}

type File = OfType<Part, 'file'>;

/** A place is a number among the files of the exchange. */
type Place = Pick<File, 'type'> & { readonly place?: number };

/** Each file is stored once. A file at a service is an address, and a file that was refused is left out. */
export function packFiles<E extends HasFiles>(exchange: E, addressOf: ((file: RunFile) => string) | undefined): E {
  const files = filesOf(exchange);
  if (files.length === 0) return exchange;
  const { run, input, messages, view, hasBegun, answers } = exchange;
  let count = 0;
  const pack = (file: File): File => {
    const index = count++;
    if (file.data === undefined) return file;
    const { data: _, url: __, ...others } = file;
    if (addressOf && (hasBegun === true || answers)) return { ...others, url: addressOf({ run, index }) };
    return view.error?.['status'] === 413 ? { ...others, data: '' } : file;
  };
  const toPlace = (file: File): File => {
    const place = files.findIndex(({ data, url }) => data === file.data && url === file.url);
    return place < 0 ? file : ({ type: 'file', place } satisfies Place as unknown as File);
  };
  return mapViews({ ...exchange, input: mapFiles(input, pack), messages: mapFiles(messages, pack) }, toPlace);
}

export function unpackFiles<E extends HasFiles>(exchange: E): E {
  const files = filesOf(exchange);
  return files.length === 0 ? exchange : mapViews(exchange, (file) => files[(file as Place).place ?? -1] ?? file);
}

const filesOf = ({ input, messages }: HasFiles): readonly File[] => filesIn([...input, ...messages]);

function mapViews<E extends HasFiles>(exchange: E, map: (file: File) => File): E {
  const mapView = (view: View): View => ({ ...view, messages: mapFiles(view.messages, map) });
  const { view, base } = exchange;
  return { ...exchange, view: mapView(view), ...(base ? { base: mapView(base) } : {}) };
}

const mapFiles = <M extends { readonly parts: readonly { readonly type: string }[] }>(
  messages: readonly M[],
  map: (file: File) => File,
): readonly M[] =>
  messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) => (part.type === 'file' ? map(part as unknown as File) : part)),
  }));
