import { identity } from 'rxjs';
import type { OfType } from '../core/typesOf.js';
import type { Message, Part } from '../core/message.js';
import { changeCalls, type View } from '../operators/view/view.js';
import { filesIn, type RunFile } from '../transport/runFiles.js';

interface HasFiles {
  readonly run: string;
  readonly input: readonly Message[];
  readonly messages: readonly Message[];
  readonly view: View;
  readonly base?: View | undefined;
  readonly lost?: { readonly run: string; readonly base: View } | undefined;
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
  const { run, view, hasBegun, answers } = exchange;
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
  return mapAll(exchange, pack, toPlace);
}

export function unpackFiles<E extends HasFiles>(exchange: E): E {
  const files = filesOf(exchange);
  return files.length === 0
    ? exchange
    : mapAll(exchange, identity, (file) => files[(file as Place).place ?? -1] ?? file);
}

/** Files are parts of messages: arguments, results, answers and checkpoints are not theirs, whatever they look like. */
export const withoutFiles = <E extends HasFiles>(exchange: E): E => mapAll(exchange, remove, remove);

const remove = (): readonly File[] => [];

const filesOf = ({ input, messages }: HasFiles): readonly File[] => filesIn([...input, ...messages]);

type MapFile = (file: File) => File | readonly File[];

function mapAll<E extends HasFiles>(exchange: E, ofRun: MapFile, ofView: MapFile): E {
  const { input, messages, base, lost } = exchange;
  const mapOwn = (view: View): View => ({ ...view, messages: mapFiles(view.messages, ofView) });
  const mapView = (view: View): View =>
    changeCalls(mapOwn(view), (call) => (call.nested ? { ...call, nested: mapOwn(call.nested) } : call));
  return {
    ...exchange,
    input: mapFiles(input, ofRun),
    messages: mapFiles(messages, ofRun),
    view: mapView(exchange.view),
    ...(base && { base: mapView(base) }),
    ...(lost && { lost: { ...lost, base: mapView(lost.base) } }),
  };
}

const mapFiles = <M extends { readonly parts: readonly { readonly type: string }[] }>(
  messages: readonly M[],
  map: MapFile,
): readonly M[] =>
  messages.map((message) => ({
    ...message,
    parts: message.parts.flatMap((part) => (part.type === 'file' ? map(part as unknown as File) : part)),
  }));
