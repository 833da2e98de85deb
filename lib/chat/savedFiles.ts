import { identity } from 'rxjs';
import type { FilePart } from '../core/message.js';
import type { View } from '../operators/view/view.js';
import { filesIn, type RunFile } from '../transport/runFiles.js';
import { isResumed, type Exchange } from './exchange.js';

/** A place is a number among the files of the exchange. */
type Place = Pick<FilePart, 'type'> & { readonly place?: number };

/** Each file is stored once. A file at a service is an address, and a file that was refused is left out. */
export function packFiles(exchange: Exchange, addressOf: ((file: RunFile) => string) | undefined): Exchange {
  const files = filesOf(exchange);
  if (files.length === 0) return exchange;
  const { run, view, hasBegun } = exchange;
  const isSent = hasBegun === true || isResumed(exchange);
  let count = 0;
  const pack = (file: FilePart): FilePart => {
    const index = count++;
    if (file.data === undefined) return file;
    const { data: _, url: __, ...others } = file;
    if (addressOf && isSent) return { ...others, url: addressOf({ run, index }) };
    return view.error?.['status'] === 413 ? { ...others, data: '' } : file;
  };
  const toPlace = (file: FilePart): FilePart => {
    const place = files.findIndex(({ data, url }) => data === file.data && url === file.url);
    return place < 0 ? file : ({ type: 'file', place } satisfies Place as unknown as FilePart);
  };
  return mapAll(exchange, pack, toPlace);
}

export function unpackFiles(exchange: Exchange): Exchange {
  const files = filesOf(exchange);
  if (files.length === 0) return exchange;
  return mapAll(exchange, identity, (file) => files[(file as Place).place ?? -1] ?? file);
}

/** Files are parts of messages: arguments, results, answers and checkpoints are not theirs, whatever they look like. */
export const withoutFiles = (exchange: Exchange): Exchange => mapAll(exchange, () => []);

const filesOf = ({ input, messages }: Exchange): readonly FilePart[] => filesIn([...input, ...messages]);

type MapFile = (file: FilePart) => FilePart | readonly FilePart[];

function mapAll(exchange: Exchange, ofRun: MapFile, ofView = ofRun): Exchange {
  const { input, messages, view, base, lost } = exchange;
  return {
    ...exchange,
    input: mapFiles(input, ofRun),
    messages: mapFiles(messages, ofRun),
    view: mapView(view, ofView),
    base: base && mapView(base, ofView),
    lost: lost && { ...lost, base: mapView(lost.base, ofView) },
  };
}

const mapView = (view: View, map: MapFile): View => ({ ...view, messages: mapFiles(view.messages, map) });

const mapFiles = <M extends { readonly parts: readonly { readonly type: string; readonly nested?: View }[] }>(
  messages: readonly M[],
  map: MapFile,
): readonly M[] =>
  messages.map((message) => ({
    ...message,
    parts: message.parts.flatMap((part) => {
      if (part.type === 'file') return map(part as unknown as FilePart);
      return part.nested ? { ...part, nested: mapView(part.nested, map) } : part;
    }),
  }));
