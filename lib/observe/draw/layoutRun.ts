import type { RunEvent } from '../../core/event.js';
import { isResult, isTurn } from '../../core/eventGuards.js';
import { messageText } from '../../core/message.js';
import { sumUsages } from '../../core/usage.js';
import type { ValueEntry } from '../recording/entries.js';
import type { RecordedRun, RecordedStep } from '../recording/readRecording.js';
import { formatTime, Lane, shortJson, type DrawnItem, type Drawing, type Fact, type Outcome } from './drawnLane.js';
import { formatCost, formatUsage, RunLanes } from './lanes.js';
import type { WireOfRun } from './wire.js';

export function layoutRun(run: RecordedRun, wire: WireOfRun = new Map()): Drawing {
  return new RunLayout(run, wire).drawing();
}

function outcomeOf({ outcome }: { readonly outcome: unknown }): Outcome {
  if (outcome === 'unsubscribed') return 'stopped';
  return outcome === 'completed' || outcome === 'failed' ? outcome : 'open';
}

class RunLayout {
  private readonly root: Lane;
  private readonly lanes: RunLanes;
  private readonly items: DrawnItem[] = [];
  private duration = 0;

  constructor(
    private readonly run: RecordedRun,
    private readonly wire: WireOfRun,
  ) {
    const { kind, name } = run.start;
    this.root = new Lane('run', name ?? (kind === 'run' ? 'Run' : 'Model'), 0);
    this.lanes = new RunLanes(this.root, run.requests.length > 0);
    this.root.marks.push({ kind: 'subscribe', at: 0, label: 'subscribed' });
  }

  drawing(): Drawing {
    const { run, root, items } = this;
    for (const step of run.steps) this.addStep(step, step.at - run.start.at);
    this.lanes.close(this.duration, run.end ? 'completed' : 'open');
    root.spans.push({ kind: 'turn', from: 0, to: this.duration, label: formatTime(this.duration) });
    const title = run.start.input?.map(messageText).join(' ').trim();
    return {
      title: title ? shortJson(title, 200) : root.name,
      root,
      duration: this.duration,
      items,
      facts: this.facts(),
    };
  }

  private addStep({ entry }: RecordedStep, at: number): void {
    this.duration = Math.max(this.duration, at);
    switch (entry.type) {
      case 'chunk':
      case 'event':
      case 'both':
        this.addValue(at, entry);
        break;
      case 'request': {
        const { provider, name } = entry.model;
        const sentAt = this.wire.get(entry.request)?.[0]?.at;
        const sent = sentAt === undefined ? undefined : sentAt - this.run.start.at;
        const lane = this.lanes.startRequest(at, `${provider} ${name}`, entry.request, sent);
        this.item(at, lane, 'entry', 'request', entry);
        break;
      }
      case 'requestEnd':
        this.item(at, this.lanes.endRequest(at, outcomeOf(entry), entry.request), 'entry', 'requestEnd', entry);
        break;
      case 'stop':
      case 'prompt': {
        const label = entry.type === 'stop' ? 'stopped by the application' : 'prompt';
        this.root.marks.push({ kind: entry.type, at, label });
        this.item(at, this.root, 'entry', entry.type, entry);
        break;
      }
      case 'end':
        this.addEnd(at, entry);
        break;
      default:
    }
  }

  private addValue(at: number, { type: kind, value, request }: ValueEntry): void {
    // A text that the run has prefixed was drawn as the model's chunk.
    const lane = this.lanes.add(at, value, kind !== 'event', request);
    if (isResult(value)) {
      const { finishReason } = value.result;
      this.root.marks.push({ kind: 'result', at, label: `result: ${finishReason}` });
    }
    this.item(at, lane, kind === 'chunk' ? 'chunk' : 'event', value.type, value);
  }

  private addEnd(at: number, entry: Extract<RecordedStep['entry'], { readonly type: 'end' }>): void {
    const outcome = outcomeOf(entry);
    const kind = outcome === 'failed' ? 'error' : outcome === 'stopped' ? 'unsubscribe' : undefined;
    const label = entry.error ? shortJson(entry.error['message'] ?? entry.error) : entry.outcome;
    if (kind) this.root.marks.push({ kind, at, label });
    this.item(at, this.root, 'entry', 'end', entry);
    this.lanes.close(at, outcome);
  }

  private item(at: number, lane: Lane | undefined, kind: string, type: string, value: unknown): void {
    this.items.push({ at, lane: lane ?? this.root, kind, type, value });
  }

  private facts(): readonly Fact[] {
    const { run, items, duration } = this;
    const events = items.map(({ value }) => value as RunEvent);
    const result = events.findLast(isResult)?.result;
    const usage = result?.usage ?? sumUsages(events.filter(isTurn).map((turn) => turn.usage)); // a run may have failed
    const cost = formatCost(result?.cost ?? result?.metadata?.['cost'] ?? usage?.cost);
    const facts: readonly (Fact | undefined)[] = [
      { name: 'Ended', value: result?.finishReason ?? run.end?.outcome ?? 'not recorded' },
      { name: 'Duration', value: formatTime(duration) },
      result && { name: 'Turns', value: String(result.turns) },
      { name: 'Requests', value: String(run.requests.length) },
      usage && { name: 'Tokens', value: formatUsage(usage) },
      cost === undefined ? undefined : { name: 'Cost', value: cost },
      run.end?.dropped ? { name: 'Not recorded', value: `${run.end.dropped} entries` } : undefined,
    ];
    return facts.filter((fact) => fact !== undefined);
  }
}
