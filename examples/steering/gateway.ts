import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createParser } from 'eventsource-parser';
import { WebSocket, WebSocketServer } from 'ws';
import type { WebSocketClass } from 'rivulet/openai';

/** A server of the Responses API over WebSockets, in front of a loopback server. */
export interface WebSocketGateway {
  /** A class of WebSockets that connect to the gateway, and with it to the server of their URL. */
  readonly webSocket: WebSocketClass;
  /** What the clients sent, for each connection. */
  readonly connections: readonly unknown[][];
  /** Ends all connections, as a network that breaks. */
  breakAll(): void;
  close(): Promise<void>;
}

/** How a gateway treats `response.steer`. */
export type SteeringBehaviour =
  /** The response ends after the event that is being sent, as `steered`. */
  | 'interrupts'
  /** The response goes on to its end first. */
  | 'completes'
  /** The input is accepted, and returned when the response has ended. */
  | 'fails'
  /** The model cannot be steered. */
  | 'refuses'
  /** The server does not know `response.steer`, and says nothing. */
  | 'ignores';

/** Starts a gateway. Each `response.create` is a POST to the loopback server, whose events become messages. */
export async function openGateway(steering: SteeringBehaviour = 'refuses'): Promise<WebSocketGateway> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connections: unknown[][] = [];
  server.on('connection', (socket, { url, headers }) => {
    const target = new URL(url ?? '', 'http://localhost').searchParams.get('target') ?? '';
    const { authorization = '' } = headers;
    const received: unknown[] = [];
    connections.push(received);
    const session = new Session(socket, target, authorization, steering);
    socket.on('message', (data: Buffer) => {
      const event: unknown = JSON.parse(data.toString());
      received.push(event);
      session.receive(isRecord(event) ? event : {}).catch(() => socket.terminate());
    });
  });
  return {
    connections,
    webSocket: class extends WebSocket {
      constructor(url: string, options: { readonly headers: Readonly<Record<string, string>> }) {
        super(`ws://127.0.0.1:${port}/?target=${encodeURIComponent(url.replace(/^ws/, 'http'))}`, options);
      }
    },
    breakAll: () => server.clients.forEach((socket) => socket.terminate()),
    close: async () => {
      server.clients.forEach((socket) => socket.terminate());
      server.close();
      await once(server, 'close');
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const lastEvents: readonly unknown[] = ['response.completed', 'response.failed', 'response.incomplete', 'error'];
const isLast = ({ type }: Fields) => lastEvents.includes(type);

/** One connection: one response at a time, and the input that steers it (the types of the SDK openai 7.57). */
class Session {
  private body: Fields = {};
  private response: Fields = {};
  private queued: { readonly id: string; readonly input: readonly unknown[] }[] = [];
  private steers = 0;
  private sequence = 1000;
  private current: AbortController | undefined;

  constructor(
    private readonly socket: WebSocket,
    private readonly target: string,
    private readonly authorization: string,
    private readonly steering: SteeringBehaviour,
  ) {
    socket.once('close', () => this.current?.abort());
  }

  async receive({ type, ...body }: Fields): Promise<void> {
    if (type === 'response.steer') {
      this.steer(body);
      return;
    }
    if (type !== 'response.create' || 'stream' in body || 'background' in body)
      throw new Error(`The client sent ${JSON.stringify({ type, ...body })}.`);
    const queued = this.queued.splice(0).flatMap((steer) => steer.input);
    await this.create(queued.length === 0 ? body : { ...body, input: [...queued, ...(body['input'] as unknown[])] });
  }

  private steer({ previous_response_id: previous, input }: Fields): void {
    const steer = { previous_response_id: previous };
    if (this.steering === 'ignores') return;
    if (this.steering === 'refuses' || previous !== this.response['id']) {
      this.fail({ ...steer, input }, 'steering_not_supported');
    } else {
      const id = `steer_${++this.steers}`;
      this.queued.push({ id, input: input as unknown[] });
      this.send('response.steer.accepted', { steer: { ...steer, id } });
    }
  }

  private fail(steer: Fields, code: string): void {
    this.send('response.steer.failed', { steer, error: { type: 'invalid_request_error', code, message: 'No.' } });
  }

  private send(type: string, fields: Fields): void {
    this.socket.send(JSON.stringify({ type, sequence_number: this.sequence++, ...fields }));
  }

  private async create(body: Fields): Promise<void> {
    this.body = body;
    const current = new AbortController();
    this.current = current;
    const answer = await fetch(this.target, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: this.authorization },
      body: JSON.stringify({ ...body, stream: true }),
      signal: current.signal,
    });
    if (!answer.ok) {
      const refusal = (await answer.json()) as Fields;
      this.socket.send(JSON.stringify({ type: 'error', status: answer.status, ...refusal }));
      return;
    }
    const last = await this.forward(answer, current);
    if (this.socket.readyState !== WebSocket.OPEN) return;
    if (isLast(last) || current.signal.aborted) await this.continueSteered();
    else this.socket.terminate();
  }

  /** Sends the events of an answer, until its end or until it is steered. Returns the last one. */
  private async forward(answer: Response, current: AbortController): Promise<Fields> {
    let last: Fields = {};
    const parser = createParser({
      onEvent: ({ data }) => {
        if (current.signal.aborted) return;
        last = JSON.parse(data) as Fields;
        if (isRecord(last['response'])) this.response = last['response'];
        this.socket.send(data);
        if (this.steering !== 'interrupts' || this.queued.length === 0 || isLast(last)) return;
        const response = { ...this.response, status: 'incomplete', incomplete_details: { reason: 'steered' } };
        this.send('response.incomplete', { response });
        current.abort();
      },
    });
    const decoder = new TextDecoder();
    try {
      for await (const bytes of answer.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
    } catch (error) {
      if (!current.signal.aborted) throw error;
    }
    return last;
  }

  /** The response has ended: another one begins with the input that was queued, unless calls have to be answered. */
  private async continueSteered(): Promise<void> {
    const { id: previous, output } = this.response;
    const calls = Array.isArray(output) ? output.filter((item: Fields) => item['type'] === 'function_call') : [];
    const steers = this.queued.map(({ id, input }) => ({ id, previous_response_id: previous, input }));
    if (steers.length === 0) return;
    if (this.steering === 'fails') {
      this.queued = [];
      for (const steer of steers) this.fail(steer, 'successor_creation_failed');
    } else if (calls.length > 0) {
      const required = calls.map((call: Fields) => ({ type: 'function_call_output', call_id: call['call_id'] }));
      for (const { input: _, ...steer } of steers)
        this.send('response.steer.pending', { steer, reason: 'waiting_for_required_input', required_input: required });
    } else {
      this.queued = [];
      const input = steers.flatMap((steer) => steer.input);
      await this.create({ ...this.body, previous_response_id: previous, input });
    }
  }
}
