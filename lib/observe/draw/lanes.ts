import type { FinishReason, RetryChunk } from '../../core/chunk.js';
import type { StreamEvent, ToolEvent, ToolResultEvent, TurnEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import { finiteNumber } from '../../core/json/json.js';
import type { Usage } from '../../core/usage.js';
import { formatTime, Lane, shortArguments, shortJson, type Outcome, type Tick } from './drawnLane.js';
import { RequestLane } from './requestLane.js';

interface CallLane {
  readonly lane: Lane;
  readonly calledAt: number;
  waitsSince?: number;
  startedAt?: number;
  nested?: RunLanes;
}

export class RunLanes {
  private turn: Lane | undefined;
  private turns = 0;
  private requests = 0;
  private request: RequestLane | undefined;
  /** Several requests may be open at the same time. */
  private readonly numbered = new Map<number, RequestLane>();
  private readonly calls = new Map<string, CallLane>();

  /** Unless it `knowsRequests`, the ends of requests follow from the events. */
  constructor(
    private readonly lane: Lane,
    private readonly knowsRequests: boolean,
  ) {}

  /** `number` and `sentAt` are undefined if they were not recorded. */
  startRequest(at: number, name: string, number?: number, sentAt?: number): Lane {
    if (number === undefined) this.request?.close(at, 'void');
    this.request = new RequestLane(new Lane('request', `Request ${++this.requests}: ${name}`, at, number));
    if (number !== undefined) this.numbered.set(number, this.request);
    if (sentAt !== undefined) this.request.send(sentAt);
    return this.turnLane(at).add(this.request.lane);
  }

  endRequest(at: number, outcome: Outcome, number: number): Lane | undefined {
    const request = this.numbered.get(number);
    request?.close(at, outcome);
    return request?.lane;
  }

  /** Returns the event's lane. Without a number, a chunk is of the newest request; recorded chunks hide events. */
  add(at: number, event: StreamEvent, isChunk: boolean, number?: number): Lane {
    const known = asKnownEvent(event);
    if (number !== undefined) this.request = this.numbered.get(number) ?? this.request;
    switch (known.type) {
      case 'text':
      case 'thinking':
        return this.addDelta(at, { kind: known.type, at, size: known.text.length, isVoid: false }, isChunk);
      case 'toolCallFragment': {
        const size = JSON.stringify(known.arguments ?? '').length;
        return this.addDelta(at, { kind: 'call', at, size, isVoid: false }, isChunk);
      }
      case 'retry':
        return this.addRetry(at, known);
      case 'retract':
        return this.retract(at);
      case 'toolCall':
      case 'toolWaiting':
      case 'toolStart':
      case 'toolProgress':
      case 'nested':
      case 'toolUsage':
      case 'toolResult':
        return this.addToolEvent(at, known);
      case 'turn':
        return this.endTurn(at, known);
      case 'message':
        if (!this.knowsRequests && known.message.role === 'model') this.request?.close(at, 'completed');
        return this.request?.lane ?? this.turnLane(at);
      case 'finish':
      case 'metadata':
      case 'provider':
      case 'file':
      case 'source':
        return this.request?.lane ?? this.turnLane(at);
      default:
        return this.lane;
    }
  }

  close(at: number, outcome: Outcome): void {
    for (const request of this.numbered.values()) request.close(at, outcome);
    this.request?.close(at, outcome);
    for (const call of this.calls.values()) this.endCall(call, at, outcome);
    this.turn?.close(at, outcome);
    this.drawTurn();
    this.lane.close(at, outcome);
  }

  private turnLane(at: number): Lane {
    return (this.turn ??= this.lane.add(new Lane('turn', `Turn ${++this.turns}`, at)));
  }

  private requestLane(at: number): RequestLane {
    if (!this.request || (!this.knowsRequests && this.request.isClosed)) this.startRequest(at, 'model');
    return this.request ?? new RequestLane(this.turnLane(at));
  }

  private addDelta(at: number, tick: Tick, isChunk: boolean): Lane {
    const request = this.requestLane(at);
    if (isChunk || !this.knowsRequests) request.tick(tick);
    return request.lane;
  }

  private addRetry(at: number, { attempt, delay, error }: RetryChunk): Lane {
    const request = this.requestLane(at);
    const isLimit = error['status'] === 429 || error['code'] === 'rate_limit';
    const what = isLimit ? 'rate limit, ' : '';
    const label = `${what}retry ${attempt} in ${formatTime(delay)}: ${shortJson(error['message'] ?? error)}`;
    request.pause({ kind: isLimit ? 'rateLimit' : 'retry', from: at, to: at + delay, label });
    return request.lane;
  }

  private retract(at: number): Lane {
    const request = this.requestLane(at);
    request.retract(at);
    for (const [id, call] of this.calls) {
      this.endCall(call, at, 'void');
      this.calls.delete(id);
    }
    return request.lane;
  }

  private addToolEvent(at: number, event: ToolEvent): Lane {
    const call = this.calls.get(event.id) ?? this.addCall(at, event.id, event.name);
    switch (event.type) {
      case 'toolCall':
        call.lane.note = shortArguments(event.arguments);
        break;
      case 'toolWaiting':
        call.waitsSince = at;
        break;
      case 'toolStart':
        call.lane.spans.push(waitBefore(call, at));
        call.startedAt = at;
        break;
      case 'nested':
        call.nested ??= new RunLanes(call.lane, false);
        return call.nested.add(at, event.event, true);
      case 'toolProgress':
        call.lane.marks.push({ kind: 'progress', at, label: shortJson(event.value) });
        break;
      case 'toolResult':
        this.addResult(at, event, call);
        break;
      default:
    }
    return call.lane;
  }

  private addCall(at: number, id: string, name: string): CallLane {
    const call: CallLane = { lane: this.turnLane(at).add(new Lane('tool', name, at)), calledAt: at };
    this.calls.set(id, call);
    return call;
  }

  private addResult(at: number, event: ToolResultEvent, call: CallLane): void {
    const { lane } = call;
    const isFailed = event.error !== undefined;
    this.endCall(call, at, isFailed ? 'failed' : 'completed');
    const label = isFailed ? `${event.code ?? 'failed'}: ${shortJson(event.error)}` : shortJson(event.result);
    lane.marks.push({ kind: isFailed ? 'error' : 'result', at, label });
  }

  private endCall(call: CallLane, at: number, outcome: Outcome): void {
    const { lane, startedAt, nested } = call;
    if (lane.end !== undefined) return;
    if (startedAt === undefined) lane.spans.push(waitBefore(call, at));
    else lane.spans.push({ kind: 'running', from: startedAt, to: at, label: `ran ${formatTime(at - startedAt)}` });
    if (outcome === 'void') lane.spans.push({ kind: 'void', from: lane.start, to: at, label: 'retracted' });
    if (nested) nested.close(at, outcome);
    else lane.close(at, outcome);
  }

  private endTurn(at: number, { finishReason, usage, metadata }: TurnEvent): Lane {
    const lane = this.turnLane(at);
    if (!this.knowsRequests) this.request?.close(at, 'completed');
    const cost = usage?.cost ?? metadata?.['cost'];
    lane.note = [finishReason, usage && formatUsage(usage), formatCost(cost, 'cost ')].filter(Boolean).join(', ');
    lane.close(at, turnOutcome(finishReason));
    this.drawTurn();
    this.turn = undefined;
    return lane;
  }

  private drawTurn(): void {
    const { turn } = this;
    if (turn?.end === undefined || turn.spans.length > 0) return;
    turn.spans.push({ kind: 'turn', from: turn.start, to: turn.end, label: formatTime(turn.end - turn.start) });
  }
}

function waitBefore({ waitsSince, calledAt }: CallLane, to: number) {
  const from = waitsSince ?? calledAt;
  return waitsSince === undefined
    ? ({ kind: 'queued', from, to, label: `queued for ${formatTime(to - from)}` } as const)
    : ({ kind: 'approval', from, to, label: `waited ${formatTime(to - from)} for a decision` } as const);
}

function turnOutcome(reason: FinishReason): Outcome {
  if (reason === 'stopped') return 'stopped';
  return reason === 'error' ? 'failed' : 'completed';
}

export const formatUsage = ({ input, output }: Usage): string => `${formatCount(input)} in, ${formatCount(output)} out`;

export function formatCost(cost: unknown, before = ''): string | undefined {
  const known = finiteNumber(cost);
  return known === undefined ? undefined : before + known.toLocaleString('en-US', { maximumSignificantDigits: 4 });
}

const formatCount = (count: unknown): string => finiteNumber(count)?.toLocaleString('en-US') ?? '?';
