import { growingMap } from '../../core/growing.js';
import { createHistoryRepair } from '../../core/history.js';
import type { Message } from '../../core/message.js';
import type { Capabilities } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import type { Wire } from '../../protocol/wire.js';
import { isOddName, mapCallNames } from './callNames.js';
import { normalizeFiles } from './normalizeFiles.js';
import { placeResultFiles } from './resultFiles.js';

/** Returns the messages of a request as an API accepts them. */
export type ToSendable = (
  messages: readonly Message[],
  tools: readonly ToolDefinition[] | undefined,
) => readonly Message[];

export interface SendableOptions {
  /** Whether a message must not be merged with adjacent ones. Default: all messages may be merged. */
  readonly isSeparate?: (message: Message) => boolean;
  /** Where the API accepts files that tools returned. Default: in the results. */
  readonly wire?: Pick<Wire, 'resultFile'>;
  readonly capabilities?: Capabilities;
}

/** Created once for a model: of a conversation that has grown, it reads only the new messages. */
export function createSendable({
  isSeparate = () => false,
  wire = {},
  capabilities = {},
}: SendableOptions = {}): ToSendable {
  const repair = createHistoryRepair(isSeparate);
  const placeFiles = placeResultFiles(wire, capabilities);
  const converterFor = (oddNames: readonly string[]) => {
    const names = new Set(oddNames);
    return growingMap((message: Message) => placeFiles(mapCallNames(normalizeFiles(message), names)));
  };
  let oddNames: readonly string[] = [];
  let convert = converterFor(oddNames);
  return (messages, tools = []) => {
    const names = tools.map(({ name }) => name).filter(isOddName);
    if (names.join() !== oddNames.join()) {
      oddNames = names;
      convert = converterFor(names);
    }
    return convert(repair(messages));
  };
}
