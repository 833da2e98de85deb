import { GoogleGenAI } from '@google/genai';
import { once } from '../out/spec/checks/bench/client/job.js';

const client = once((baseUrl) => new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl } }));

/** The raw iterator, text only. */
export async function iterator(job) {
  const contents = job.messages.map(({ role, text }) => ({
    role: role === 'user' ? 'user' : 'model',
    parts: [{ text }],
  }));
  for await (const chunk of await client(job.baseUrl).models.generateContentStream({
    model: 'gemini-3.8-flash',
    contents,
  })) {
    for (const { text } of chunk.candidates?.[0]?.content?.parts ?? []) if (text) job.onText(text);
  }
}
