import { growingList } from '../../core/growing.js';
import { createHistoryRepair } from '../../core/history.js';
import type { Message } from '../../core/message.js';
import type { ToolDefinition } from '../../core/tool.js';
import { holdsFile } from '../../protocol/encodeOnce.js';
import { isOddName, mapCallNames } from './callNames.js';
import { normalizeFiles } from './normalizeFiles.js';

export type ToSendable = (
  messages: readonly Message[],
  tools: readonly ToolDefinition[] | undefined,
) => readonly Message[];

/** Created once for a model: of a conversation that has grown, it reads only the new messages. */
export function createSendable(
  isSeparate: (message: Message) => boolean,
  placeFiles: (message: Message) => Message,
): ToSendable {
  const repair = createHistoryRepair(isSeparate);
  const converterFor = (oddNames: readonly string[]) => {
    const names = new Set(oddNames);
    return growingList((message: Message) => {
      const named = mapCallNames(message, names);
      return [named.parts.some(holdsFile) ? placeFiles(normalizeFiles(named)) : named];
    });
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
