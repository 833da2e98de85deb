import type { UiMessage, UiMessageChunk } from '../../../lib/service/uiChat/index.js';
import { tryParseJson } from '../../../lib/core/json/json.js';

/** A part of a message at the browser. */
type ReadPart = Record<string, unknown> & { type: string };

/** What a browser has read. */
export interface ReadMessage extends UiMessage {
  readonly parts: ReadPart[];
  finishReason?: string;
  error?: string;
}

/**
 * Reads chunks by the rules of `useChat`, and is stricter: a chunk must refer to something that is open, whatever is
 * opened must be closed, and nothing follows the end. Calls may stay open if the message ends with `tool-calls`.
 *
 * @param before The message to continue. Default: a new one.
 */
export function readUiMessage(chunks: readonly UiMessageChunk[], before?: UiMessage): ReadMessage {
  const message: ReadMessage = {
    id: before?.id ?? '',
    role: 'assistant',
    parts: structuredClone(before?.parts ?? []) as ReadPart[],
  };
  const blocks = new Map<string, ReadPart>();
  const usedIds = new Set<string>();
  let isStepOpen = before ? undefined : false; // whether the message to continue has an open step is not known
  let hasEnded = false;
  const fail = (problem: string): never => {
    throw new Error(`${problem}: ${JSON.stringify(chunks)}`);
  };
  const call = (id: string): ReadPart =>
    message.parts.findLast(({ toolCallId }) => toolCallId === id) ?? fail(`There is no call ${id}`);
  const add = (part: ReadPart) => {
    if (!isStepOpen) fail(`${part.type} is outside of a step`);
    message.parts.push(part);
  };
  const addCall = (id: string, name: string, fields: Record<string, unknown>) => {
    const known = message.parts.find(({ toolCallId }) => toolCallId === id);
    if (known) Object.assign(known, fields);
    else add({ type: `tool-${name}`, toolCallId: id, ...fields });
  };
  chunks.forEach((chunk, index) => {
    if (hasEnded) fail(`${chunk.type} follows the end`);
    if ((chunk.type === 'start') !== (index === 0)) fail('The stream does not begin with start');
    switch (chunk.type) {
      case 'start':
        Object.assign(message, { id: chunk.messageId ?? message.id });
        break;
      case 'start-step':
        if (isStepOpen) fail('The step before is open');
        isStepOpen = true;
        message.parts.push({ type: 'step-start' });
        break;
      case 'finish-step':
        if (isStepOpen === false) fail('No step is open');
        isStepOpen = false;
        break;
      case 'steering-message':
        if (isStepOpen) fail('A prompt is in a step');
        message.parts.push({ ...chunk });
        break;
      case 'reset-step':
        message.parts.splice(message.parts.findLastIndex(({ type }) => type === 'step-start') + 1);
        break;
      case 'text-start':
      case 'reasoning-start': {
        if (usedIds.has(chunk.id)) fail(`The id ${chunk.id} is used twice`);
        if (blocks.size > 0) fail('A block begins in a block');
        const part = { type: chunk.type.replace('-start', ''), text: '', state: 'streaming' };
        usedIds.add(chunk.id);
        blocks.set(chunk.id, part);
        add(part);
        break;
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const block = blocks.get(chunk.id) ?? fail(`The block ${chunk.id} is not open`);
        block['text'] = String(block['text']) + chunk.delta;
        break;
      }
      case 'text-end':
      case 'reasoning-end':
        (blocks.get(chunk.id) ?? fail(`The block ${chunk.id} is not open`))['state'] = 'done';
        blocks.delete(chunk.id);
        break;
      case 'tool-input-start':
        addCall(chunk.toolCallId, chunk.toolName, { state: 'input-streaming', rawInput: '' });
        break;
      case 'tool-input-delta': {
        const part = call(chunk.toolCallId);
        if (part['state'] !== 'input-streaming') fail('An input grows that is complete');
        part['rawInput'] = String(part['rawInput']) + chunk.inputTextDelta;
        part['input'] = tryParseJson(part['rawInput'] as string);
        break;
      }
      case 'tool-input-available':
        addCall(chunk.toolCallId, chunk.toolName, { state: 'input-available', input: chunk.input });
        break;
      case 'tool-input-error':
        addCall(chunk.toolCallId, chunk.toolName, {
          state: 'output-error',
          input: chunk.input,
          errorText: chunk.errorText,
        });
        break;
      case 'tool-approval-request':
        Object.assign(call(chunk.toolCallId), { state: 'approval-requested', approval: { id: chunk.approvalId } });
        break;
      case 'tool-approval-response': {
        const asking = message.parts.find(({ state }) => state === 'approval-requested');
        Object.assign(asking ?? fail('No call asks'), { state: 'approval-responded' });
        break;
      }
      case 'tool-output-available':
        Object.assign(call(chunk.toolCallId), { state: 'output-available', output: chunk.output });
        Object.assign(call(chunk.toolCallId), { preliminary: chunk.preliminary });
        break;
      case 'tool-output-error':
        Object.assign(call(chunk.toolCallId), {
          state: 'output-error',
          errorText: chunk.errorText,
          preliminary: undefined,
        });
        break;
      case 'tool-output-denied':
        Object.assign(call(chunk.toolCallId), { state: 'output-denied' });
        break;
      case 'finish':
        hasEnded = true;
        if (chunk.finishReason) message.finishReason = chunk.finishReason;
        break;
      case 'error':
        hasEnded = true;
        message.error = chunk.errorText;
        break;
      case 'file':
      case 'source-url':
      case 'source-document':
        add({ ...chunk });
        break;
      default:
    }
  });
  const end = { hasEnded, isStepOpen: isStepOpen ?? false, openBlocks: blocks.size };
  if (JSON.stringify(end) !== '{"hasEnded":true,"isStepOpen":false,"openBlocks":0}') fail(JSON.stringify(end));
  const open = message.parts.filter(
    ({ state, preliminary }) => preliminary === true || /^(input|approval)-/.test(String(state)),
  );
  if (open.length > 0 && message.finishReason !== 'tool-calls' && !before) fail(`Calls are open`);
  return message;
}
