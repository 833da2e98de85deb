/** A run after a long conversation with calls and results. It is compiled beside each build that is measured. */
import * as library from '../../../../lib/index.js';
import type { JsonObject, Message, Model } from '../../../../lib/index.js';
import { maxTurns, once, saveDescription, saveParameters } from './job.js';
import type { Library } from './job.js';

const { createAgent, modelMessage, tool, userMessage } = library;

/** So many messages: a question, a call, its result and an answer. */
const conversationOf = once((messages) => {
  const text = 'The river runs to the sea, and the sea is not full. ';
  return Array.from({ length: Number(messages) / 4 }, (_, round): readonly Message[] => {
    const call = { id: `past_${round}`, name: 'save' };
    return [
      userMessage(`Save ${round}. ${text}`),
      modelMessage([{ type: 'toolCall', ...call, arguments: { content: `past ${round}` } }]),
      userMessage([{ type: 'toolResult', ...call, result: { saved: round, lines: [text, text] } }]),
      modelMessage(`Saved ${round}. ${text}`),
    ];
  }).flat();
});

function libraryOf(create: (baseUrl: string) => Model): Library {
  const modelAt = once(create);
  return ({ baseUrl, past = 0, save, onText }) =>
    new Promise((resolve, reject) => {
      const execute = ({ content }: JsonObject) => save?.(content as string) ?? '';
      const tools = [tool({ name: 'save', description: saveDescription, parameters: saveParameters, execute })];
      createAgent({ model: modelAt(baseUrl), tools, maxTurns, prefix: '' })
        .stream([...conversationOf(String(past)), userMessage('Go on.')])
        .subscribe({
          next: (event) => {
            if (event.type === 'text') onText(event.text);
          },
          error: reject,
          complete: resolve,
        });
    });
}

const settingsAt = (baseUrl: string) => ({ apiKey: 'key', baseUrl: `${baseUrl}/v1` });

/** Chat Completions: `openai` in builds before 2026-11-26, in which it became the Responses API. */
const { openaiChat = library.openai } = library as Partial<typeof library>;
export const openai = libraryOf((baseUrl) => openaiChat('gpt-5', settingsAt(baseUrl)));
export const anthropic = libraryOf((baseUrl) => library.anthropic('claude-sonnet-4-5', settingsAt(baseUrl)));
