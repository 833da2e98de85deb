import { catchError, concat, concatMap, defer, forkJoin, ignoreElements, interval, map, merge } from 'rxjs';
import { of, Subject, take, tap, toArray, type Observable, type ObservableInput } from 'rxjs';
import type { StreamEvent } from '../core/event.js';
import type { Envelope } from '../service/runs/lateReader.js';
import type { MessageRoom, RunLog, SentMessage } from '../service/ports/runLog.js';
import { casesOf, expecting, expectSame, failing, newId, type Check, type PortContractCase } from './portContract.js';
import type { Plain } from '../core/typesOf.js';

const text = (value: string) => ({ type: 'text', text: value }) as StreamEvent;
const other = (type: string): StreamEvent => ({ type });

/**
 * Returns the checks that every log of runs must pass, one test case each.
 *
 * <span class="informal">Run them in the spec of your own `RunLog`.</span>
 *
 * ```ts
 * for (const { title, run } of logContract(() => myLog(pool))) test(`myLog ${title}`, run);
 * ```
 *
 * @param create Returns the log. It may contain runs: each case uses ids of its own.
 */
export function logContract(create: () => RunLog | ObservableInput<RunLog>): readonly Plain<PortContractCase>[] {
  return casesOf(create, { ...reading, ...writing, ...messages });
}

type Checks = Readonly<Record<string, Check<RunLog>>>;

const reading: Checks = {
  'does not know a run before it is opened': (log) =>
    concat(
      failing('read', log.read(newId()), 'run_not_found'),
      failing('messages', log.messages(newId()), 'run_not_found'),
      expecting('send', log.send(newId(), { type: 'stop' }), false),
    ),

  'gives a late reader all events, and the end': (log) => {
    const run = newId();
    return concat(
      log.append(run, 1, [other('a'), text('Hel')]),
      log.append(run, 1, [text('lo'), other('b')]),
      log.end(run, 1),
      expecting('events', contentOf(log.read(run)), ['a', 'Hello', 'b']),
    );
  },

  'gives a reader each event as it arrives, and the end': (log) => {
    const run = newId();
    const writing = concat(
      log.append(run, 1, [text('Hel')]),
      log.append(run, 1, [text('lo')]),
      log.append(run, 1, [other('b')]),
      log.end(run, 1),
    );
    return concat(
      log.append(run, 1, [other('a')]),
      forkJoin([contentOf(log.read(run)), writing.pipe(toArray())]).pipe(
        map(([content]) => expectSame('events', content, ['a', 'Hello', 'b'])),
      ),
    );
  },

  'continues after the id of any envelope, without a loss or a repetition': (log) => {
    const run = newId();
    const all = [other('a'), text('Hel'), text('lo'), other('b'), text('!')];
    return concat(
      log.append(run, 1, all),
      log.end(run, 1),
      defer(() => log.read(run).pipe(toArray())).pipe(
        concatMap((envelopes) =>
          concat(
            ...envelopes.map(({ id }, index) =>
              expecting(`events after ${id}`, contentOf(log.read(run, id)), joined(envelopes.slice(index + 1))),
            ),
          ),
        ),
      ),
    );
  },

  'gives a full receiver nothing, and merges what it has missed': (log) => {
    const run = newId();
    const drained = new Subject<void>();
    const receiver = { isFull: false, drained };
    const opened = concat(log.append(run, 1, [other('a')]), of(undefined));
    const reading = log.read(run, undefined, receiver).pipe(tap(() => (receiver.isFull = true)));
    /** The receiver drains after each event once the run has ended, and may be asked again while nothing is there. */
    const draining = interval(20).pipe(
      tap(() => {
        receiver.isFull = false;
        drained.next();
      }),
    );
    const writing = concat(
      log.append(run, 1, [text('Hel')]),
      log.append(run, 1, [text('lo'), other('b')]),
      log.end(run, 1),
    );
    return opened.pipe(
      concatMap(() => merge(reading, concat(writing, draining).pipe(ignoreElements())).pipe(take(3), toArray())),
      map((envelopes) => expectSame('events', joined(envelopes), ['a', 'Hello', 'b'])),
    );
  },

  'fails for a position that is not one of the run': (log) => {
    const run = newId();
    return concat(log.append(run, 1, [other('a')]), failing('read', log.read(run, 'x'), 'configuration'));
  },

  'gives the events of a failed run, and its failure': (log) => {
    const run = newId();
    const failure = { code: 'timeout', message: 'Too late.', retryable: true, more: 1 };
    return concat(
      log.append(run, 1, [other('a')]),
      log.end(run, 1, { failure }),
      expecting('first event', contentOf(log.read(run).pipe(take(1))), ['a']),
      log.read(run).pipe(
        toArray(),
        map(() => expectSame('the failure', undefined, failure)),
        catchError((thrown: unknown) => {
          expectSame('the failure', (thrown as { description?: unknown }).description, failure);
          return of(undefined);
        }),
      ),
    );
  },
};

const writing: Checks = {
  'refuses the writes of an older attempt, and all writes after the end': (log) => {
    const run = newId();
    return concat(
      log.append(run, 1, [other('a')]),
      log.append(run, 2, [other('retract')]),
      failing('append of attempt 1', log.append(run, 1, [other('late')]), 'run_taken'),
      failing('end of attempt 1', log.end(run, 1), 'run_taken'),
      log.append(run, 2, [other('b')]),
      log.end(run, 2),
      failing('append after the end', log.append(run, 2, [other('late')]), 'run_taken'),
      expecting('events', contentOf(log.read(run)), ['a', 'retract', 'b']),
    );
  },

  'restores a compact event, and gives a transport its compact form, and no checkpoint': (log) => {
    const run = newId();
    const message = (parts: readonly object[]) =>
      ({ type: 'message', message: { role: 'model', parts } }) as StreamEvent;
    const compact = message([{ type: 'text', range: [0, 2] }]);
    const checkpoint = { type: 'checkpoint', checkpoint: {} } as StreamEvent;
    return concat(
      log.append(run, 1, [text('Hi'), compact, checkpoint]),
      log.end(run, 1),
      log.read(run).pipe(
        toArray(),
        map((envelopes) => {
          expectSame('the message', envelopes[1]?.event, message([{ type: 'text', text: 'Hi' }]));
          expectSame('the compact message', envelopes[1]?.compact, compact);
          expectSame('the checkpoint', envelopes[2]?.event, checkpoint);
          expectSame('the compact checkpoint', envelopes[2]?.compact, undefined);
        }),
      ),
    );
  },

  'writes in the order of the subscriptions': (log) => {
    const run = newId();
    const writes = merge(log.append(run, 1, [other('a')]), log.append(run, 1, [other('a')]), log.end(run, 1));
    return concat(writes, expecting('events', contentOf(log.read(run)), ['a', 'a']));
  },

  'appends nothing before it is subscribed': (log) => {
    const run = newId();
    void log.append(run, 1, [other('a')]);
    return failing('read', log.read(run), 'run_not_found');
  },
};

const messages: Checks = {
  'opens a run without events, for its readers and its messages': (log) => {
    const run = newId();
    return concat(
      log.append(run, 1, []),
      expecting('send', log.send(run, { type: 'stop' }), true),
      log.end(run, 1),
      expecting('events', contentOf(log.read(run)), []),
      expecting('send after the end', log.send(run, { type: 'stop' }), false),
    );
  },

  'refuses a message for which there is no room': (log) => {
    const run = newId();
    const prompt = {
      type: 'prompt',
      input: [{ role: 'user', parts: [{ type: 'text', text: 'x'.repeat(100) }] }],
    } as const;
    const full = (subject: string, room: MessageRoom) => failing(subject, log.send(run, prompt, room), 'run_full');
    return concat(
      log.append(run, 1, []),
      expecting('the first', log.send(run, prompt, { after: '0', count: 2, bytes: 1000 }), true),
      expecting('the second', log.send(run, prompt, { after: '0', count: 2, bytes: 1000 }), true),
      full('the third', { after: '0', count: 2, bytes: 1000 }),
      full('too many bytes', { after: '1', count: 2, bytes: 250 }),
      expecting('one is taken', log.send(run, prompt, { after: '1', count: 2, bytes: 1000 }), true),
      expecting('a large one alone', log.send(run, prompt, { after: '3', count: 2, bytes: 1 }), true),
      expecting('a stop', log.send(run, { type: 'stop' }), true),
      log.end(run, 1),
      expecting('after the end', log.send(run, prompt, { after: '0', count: 1, bytes: 1 }), false),
      expecting('messages', positionsOf(log.messages(run)), ['1', '2', '3', '4', '5']),
    );
  },

  'says whether it has a run, its events and its end, and changes nothing': (log) => {
    const [run, empty] = [newId(), newId()];
    const state = (subject: string, id: string, expected: unknown) => expecting(subject, log.state(id), expected);
    return concat(
      state('a run that was not opened', run, undefined),
      failing('read after it', log.read(run), 'run_not_found'),
      log.append(run, 1, []),
      state('a run without events', run, { attempt: 1, hasEvents: false, hasEnded: false }),
      log.append(run, 2, [other('a')]),
      state('a run of the second attempt', run, { attempt: 2, hasEvents: true, hasEnded: false }),
      log.end(run, 3, { failure: { code: 'timeout', message: 'Too late.' } }),
      state('a run that has failed', run, { attempt: 3, hasEvents: true, hasEnded: true }),
      expecting('messages', log.messages(run).pipe(toArray()), []),
      log.end(empty, 1),
      state('a run that has ended without events', empty, { attempt: 1, hasEvents: false, hasEnded: true }),
    );
  },

  'gives the executor all messages in their order, and completes at the end': (log) => {
    const run = newId();
    const messages = [
      { type: 'answers', answers: { results: { 'c1/1': { city: 'Oslo' } } } },
      { type: 'answers', answers: { decisions: { 'c1/2': { approve: false } } } },
      { type: 'prompt', input: [{ role: 'user', parts: [{ type: 'text', text: 'Hurry.' }] }] },
      { type: 'cancel', id: 'c3' },
      { type: 'stop' },
    ] as const;
    const sending = concat(...messages.slice(2).map((message) => log.send(run, message)), log.end(run, 1));
    return concat(
      log.append(run, 1, []),
      ...messages.slice(0, 2).map((message) => log.send(run, message)),
      forkJoin([log.messages(run).pipe(toArray()), sending.pipe(toArray())]).pipe(
        map(([sent]) => {
          const received = sent.map(({ message }) => message);
          expectSame('messages', received, messages);
          return sent[1]?.position;
        }),
        concatMap((position) =>
          expecting(
            'messages after the second',
            log.messages(run, position).pipe(
              map(({ message }) => message.type),
              toArray(),
            ),
            ['prompt', 'cancel', 'stop'],
          ),
        ),
      ),
    );
  },
};

const joined = (envelopes: readonly Envelope[]): readonly string[] => {
  const content: string[] = [];
  let wasText = false;
  for (const { event } of envelopes) {
    const isText = event.type === 'text';
    const value = isText ? (event as unknown as { readonly text: string }).text : event.type;
    if (isText && wasText) content.push(`${content.pop() ?? ''}${value}`);
    else content.push(value);
    wasText = isText;
  }
  return content;
};

const contentOf = (envelopes: Observable<Envelope>) => envelopes.pipe(toArray(), map(joined));

const positionsOf = (sent: Observable<SentMessage>) =>
  sent.pipe(
    toArray(),
    map((all) => all.map(({ position }) => position)),
  );
