import assert from 'node:assert/strict';
import { createOpenAI } from '@ai-sdk/openai';
import type { Model } from '../../../../lib/core/model.js';
import { fromAiSdk } from '../../../../lib/providers/aiSdk/aiSdk.js';
import { modelByName } from '../../../../lib/providers/registry/index.js';
import { serveModel } from '../../../../lib/testing/server/index.js';
import type { LoopbackServer, ServeOptions } from '../../../../lib/testing/server/index.js';
import { recordFetch } from '../../../../lib/observe/recording/index.js';
import { assertHidden, propertiesOf, key } from '../family.js';
import type { Family } from '../family.js';
import { eventsOf, wires } from '../wires.js';

/** Spellings in which a server may repeat a key. */
const spellings: Readonly<Record<string, string>> = {
  plain: key,
  'with its scheme': `Bearer ${key}`,
  'as a URL': `https://user:${key}@host.test/?key=${key}`,
  'as JSON in JSON': JSON.stringify({ authorization: `Bearer ${key}` }),
  'all but its end': key.slice(0, -4),
};

const sse = { 'content-type': 'text/event-stream' };
const json = { 'content-type': 'application/json' };
const html = { 'content-type': 'text/html' };

/** Places in which a server may repeat the key. */
const places: Readonly<Record<string, (echo: string) => ServeOptions>> = {
  'the message of an error': (echo) => ({
    status: 401,
    headers: json,
    body: { error: { message: `Incorrect key: ${echo}` } },
  }),
  'the code of an error': (echo) => ({
    status: 400,
    headers: json,
    body: { error: { message: 'no', code: echo, type: echo, param: echo } },
  }),
  'a name in an error': (echo) => ({ status: 400, headers: json, body: { error: { message: 'no', [echo]: 1 } } }),
  'an error that is an array': (echo) => ({
    status: 400,
    headers: json,
    body: JSON.stringify([{ error: { message: echo } }]),
  }),
  'an error that is a text': (echo) => ({
    status: 500,
    headers: { 'content-type': 'text/plain' },
    body: `failed ${echo}`,
  }),
  'an error that is a page': (echo) => ({ status: 502, headers: html, body: `<html><h1>${echo}</h1></html>` }),
  'the id of a request': (echo) => ({
    status: 500,
    headers: { ...json, 'x-request-id': echo, 'request-id': echo },
    body: { error: { message: 'no' } },
  }),
  'a redirect': (echo) => ({ status: 302, headers: { location: `http://127.0.0.1:1/${encodeURIComponent(echo)}` } }),
  'a page instead of a stream': (echo) => ({ raw: [`<html>${echo}</html>`], headers: html }),
  'a frame that is not JSON': (echo) => ({ raw: [`data: ${echo}\n\n`], headers: sse }),
  'a frame that is cut': (echo) => ({ raw: [`data: {"error":{"message":${JSON.stringify(echo)}`], headers: sse }),
  'an error in the stream': (echo) => ({
    raw: [
      `data: ${JSON.stringify({ type: 'error', error: { type: echo, code: echo, message: `no ${echo}` }, message: echo })}\n\n`,
    ],
    headers: sse,
  }),
  'an error in two writes': (echo) => {
    const frame = `data: ${JSON.stringify({ type: 'error', error: { message: `no ${echo}` } })}\n\n`;
    return { raw: [frame.slice(0, 50), frame.slice(50)], headers: sse };
  },
  'an error line': (echo) => ({
    raw: [`${JSON.stringify({ error: `no ${echo}` })}\n`],
    headers: { 'content-type': 'application/x-ndjson' },
  }),
};

type MakeModel = (server: LoopbackServer, fetch: typeof globalThis.fetch) => Model;

/** The models whose server repeats the key: all providers, and one of the AI SDK. */
const models: readonly (readonly [string, MakeModel])[] = [
  ...wires.map((wire): [string, MakeModel] => [
    wire,
    (server, fetch) => modelByName(wire, { baseUrl: server.urlFor(wire), apiKey: key, retry: false, fetch }),
  ]),
  [
    'ai-sdk',
    (server, fetch) =>
      fromAiSdk(createOpenAI({ baseURL: server.url, apiKey: key, fetch }).chat('gpt-5'), { retry: false }),
  ],
];

/** A key that a server repeats: it is in no error, no event and no recording. */
export const secrets: Family = {
  name: 'secrets',
  async run(check) {
    for (const [wire, makeModel] of models)
      for (const [place, respond] of Object.entries(places))
        for (const [spelling, echo] of Object.entries(spellings))
          await check(`${wire}, ${place}, ${spelling}`, async () => {
            const server = await serveModel([], respond(echo));
            const recorder = recordFetch();
            try {
              const { values, error } = await eventsOf(makeModel(server, recorder.fetch));
              assert.notEqual(error, undefined, 'the stream did not fail');
              assertHidden('the error', propertiesOf(error));
              assertHidden('an event', JSON.stringify(values));
              assertHidden('the recording', JSON.stringify(recorder.recording()));
            } finally {
              await server.close();
            }
          });
  },
};
