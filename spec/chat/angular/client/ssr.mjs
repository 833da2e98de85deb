// A page with a conversation and a run, rendered by Angular's server: no request is sent, and the page is stable at once.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import '@angular/compiler'; // this program is not compiled
import { Component, provideZonelessChangeDetection } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import { provideServerRendering, renderApplication } from '@angular/platform-server';
import { injectConversation, injectRun, provideAgent } from 'rivulet/angular';
import { remoteAgent } from 'rivulet/chat';

const saved = {
  version: 1,
  selected: 'a',
  exchanges: [
    {
      id: 'a',
      run: 'a',
      input: [{ role: 'user', parts: [{ type: 'text', text: 'A saved question' }] }],
      messages: [],
      view: {
        status: 'streaming',
        messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'A saved question' }] }],
        usage: {},
      },
      base: { status: 'idle', messages: [], usage: {} },
      hasBegun: true,
    },
  ],
};

test('The server of Angular shows a saved conversation, and starts no run', { timeout: 20_000 }, async () => {
  let requests = 0;
  const service = createServer((_, response) => {
    requests += 1;
    response.end();
  }).listen(0);
  const url = `http://127.0.0.1:${service.address().port}/api/chat`;
  const App = Component({
    selector: 'app-root',
    template: `
      <p>{{ chat.status() }} {{ chat.exchanges()[0].messages[0].parts[0].text }}</p>
      <p>{{ stored.status() }} {{ stored.exchanges().length }}</p>
      <p>{{ answer.status() }}</p>
    `,
  })(
    class {
      chat = injectConversation({ saved });
      stored = injectConversation({ key: 'chat' });
      answer = injectRun(() => 'A question');
      constructor() {
        this.chat.send('From the constructor');
        this.chat.stop();
        this.stored.send('From the constructor');
        this.answer.reload();
      }
    },
  );
  const providers = [provideZonelessChangeDetection(), provideServerRendering(), provideAgent(remoteAgent(url))];
  const html = await renderApplication((context) => bootstrapApplication(App, { providers }, context), {
    document: '<!doctype html><html><body><app-root></app-root></body></html>',
    url: '/',
  });
  service.close();
  assert.match(html, /<p>\w+ A saved question<\/p>/);
  assert.match(html, /<p>idle 0<\/p>/);
  assert.match(html, /<p>idle<\/p>/);
  assert.equal(requests, 0);
});
