import type { Attributes } from '@opentelemetry/api';
import { Subject } from 'rxjs';
import type { Chunk } from '../../core/chunk.js';
import { isModelMessage } from '../../core/eventGuards.js';
import { hasToolResults, readableParts, type FilePart, type Message, type ReadablePart } from '../../core/message.js';
import type { ModelRequest } from '../../core/model.js';
import { accumulateToolCalls } from '../../operators/accumulateToolCalls.js';
import { consolidate } from '../../operators/consolidate.js';

export function inputAttributes({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): Attributes {
  const system = messages
    .filter(({ role }) => role === 'system')
    .flatMap(({ parts }) => readableParts(parts).map(toPart));
  const definitions = tools?.map(({ name, description, parameters }) => {
    return { type: 'function', name, description, parameters };
  });
  return {
    'gen_ai.input.messages': JSON.stringify(messages.filter(({ role }) => role !== 'system').map(toMessage)),
    ...(system.length > 0 ? { 'gen_ai.system_instructions': JSON.stringify(system) } : {}),
    ...(definitions ? { 'gen_ai.tool.definitions': JSON.stringify(definitions) } : {}),
  };
}

export const outputAttributes = (message: Message | undefined): Attributes =>
  message ? { 'gen_ai.output.messages': JSON.stringify([toMessage(message)]) } : {};

function toMessage(message: Message) {
  const user = hasToolResults(message) ? 'tool' : 'user';
  return { role: message.role === 'model' ? 'assistant' : user, parts: readableParts(message.parts).map(toPart) };
}

function toPart(part: ReadablePart) {
  switch (part.type) {
    case 'text':
      return { type: 'text', content: part.text };
    case 'toolCall':
      return { type: 'tool_call', id: part.id, name: part.name, arguments: part.arguments };
    case 'toolResult':
      return { type: 'tool_call_response', id: part.id, response: part.error ?? part.result };
    case 'file':
      return toFile(part);
    case 'source': {
      const { type, id, url, title, text } = part;
      return { type, id, url, title, text };
    }
  }
}

function toFile({ mediaType, url, data }: FilePart) {
  const [kind = ''] = mediaType.split('/');
  const file = { mime_type: mediaType, modality: ['image', 'audio', 'video'].includes(kind) ? kind : 'document' };
  return url === undefined ? { type: 'blob', ...file, content: data } : { type: 'uri', ...file, uri: url };
}

export class OutputCollector {
  message: Message | undefined;
  private readonly chunks = new Subject<Chunk>();

  constructor() {
    this.chunks.pipe(accumulateToolCalls(), consolidate()).subscribe({
      next: (event) => {
        if (isModelMessage(event)) this.message = event.message;
      },
      error: () => undefined, // a text that is too long: the run itself fails with the same error
    });
  }

  add(chunk: Chunk): void {
    this.chunks.next(chunk);
  }
}
