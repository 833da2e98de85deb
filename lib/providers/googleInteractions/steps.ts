import { asArray, isJsonObject, nonEmptyString, objectOrEmpty, omitUndefined } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { serverToolChunk } from '../../core/metadata.js';
import { CallFragments } from '../shared/callFragments.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';
import { unknownChunk } from '../shared/unknownChunk.js';
import { readFile, readSources } from './content.js';
import { provider, toProviderData } from './providerData.js';

/** What must be sent back (a signed thought, a step of Google's tools) is a provider part. */
export class StepDecoder {
  private readonly open = new Map<JsonValue | undefined, Record<string, JsonValue>>();
  private readonly toolNames = new Map<JsonValue | undefined, string>();
  private readonly calls: CallFragments;

  constructor(private readonly out: ChunkReceiver) {
    this.calls = new CallFragments(out);
  }

  start(index: JsonValue | undefined, step: JsonObject): void {
    const { type, id, name } = step;
    const summary =
      type === 'thought' && step['summary'] !== undefined ? { summary: [...asArray(step['summary'])] } : {};
    this.open.set(index, { ...step, ...summary } as JsonObject);
    if (type === 'model_output') for (const content of asArray(step['content'])) this.addContent(content);
    else if (type === 'thought') for (const content of asArray(step['summary'])) this.addThinking(content);
    else if (type === 'function_call') {
      const args = isJsonObject(step['arguments']) && Object.keys(step['arguments']).length > 0;
      const callId = nonEmptyString(id);
      const data = omitUndefined({ id: callId, signature: nonEmptyString(step['signature']) });
      this.calls.start(index, {
        ...omitUndefined({ id: callId, name: nonEmptyString(name) }),
        ...(args ? { arguments: objectOrEmpty(step['arguments']) } : {}),
        ...(Object.keys(data).length > 0 ? { providerData: toProviderData(data) } : {}),
      });
    } else if (isServerStep(step)) this.reportTool(index, 'running');
  }

  delta(index: JsonValue | undefined, delta: JsonObject): void {
    const step = this.open.get(index);
    switch (delta['type']) {
      case 'thought_summary':
        if (step) ((step['summary'] ??= []) as JsonValue[]).push(delta['content'] ?? null);
        this.addThinking(delta['content']);
        break;
      case 'thought_signature':
        if (step && delta['signature'] !== undefined) step['signature'] = delta['signature'];
        break;
      case 'arguments_delta':
        this.calls.fragment(index, nonEmptyString(delta['arguments']) ?? '');
        break;
      case 'text_annotation_delta':
        this.addSources(delta['annotations']);
        break;
      default:
        if (step && isServerStep(step)) Object.assign(step, { ...delta, type: step['type'] });
        else this.addContent(delta);
    }
  }

  stop(index: JsonValue | undefined): void {
    const step = this.open.get(index);
    this.open.delete(index);
    if (step?.['type'] === 'function_call') this.calls.end(index);
    else if (step?.['type'] === 'thought') {
      if (nonEmptyString(step['signature']) !== undefined) this.keep(step);
    } else if (step && isServerStep(step)) {
      this.open.set(index, step);
      this.reportTool(index, 'completed');
      this.open.delete(index);
      this.keep(step);
    } else if (step && step['type'] !== 'model_output') this.out.emit(unknownChunk(step));
  }

  /** At the end, a call without arguments is complete. */
  end(isComplete: boolean): void {
    if (isComplete) this.calls.completeEnded();
  }

  private keep(step: JsonObject): void {
    this.out.emit({ type: 'provider', provider, data: { step: { ...step } } });
  }

  private addThinking(content: unknown): void {
    const text = isJsonObject(content) ? nonEmptyString(content['text']) : undefined;
    if (text !== undefined) this.out.emit({ type: 'thinking', text });
  }

  private addContent(content: unknown): void {
    if (!isJsonObject(content)) return;
    const file = readFile(content);
    const text = nonEmptyString(content['text']);
    if (file) this.out.emit({ type: 'file', file });
    else if (content['type'] !== 'text') this.out.emit(unknownChunk(content));
    else if (text !== undefined) this.out.emit({ type: 'text', text });
    this.addSources(content['annotations']);
  }

  private addSources(annotations: JsonValue | undefined): void {
    for (const source of readSources(annotations)) this.out.emit({ type: 'source', source });
  }

  private reportTool(index: JsonValue | undefined, status: 'running' | 'completed'): void {
    const raw = this.open.get(index) ?? {};
    const { type, arguments: input, result: output } = raw;
    const isResult = output !== undefined || raw['call_id'] !== undefined;
    const id = nonEmptyString(isResult ? raw['call_id'] : raw['id']) ?? JSON.stringify(index ?? null);
    const name = this.toolNames.get(id) ?? (nonEmptyString(type) ?? '').replace(/_(call|result)$/, '');
    this.toolNames.set(id, name);
    if (isResult && status === 'running') return;
    const outcome = raw['is_error'] === true ? 'failed' : 'completed';
    this.out.emit(
      serverToolChunk({
        id,
        name,
        status: isResult ? outcome : 'running',
        ...omitUndefined({ input, output }),
        raw: { ...raw },
      }),
    );
  }
}

/** `google_search_call`, `code_execution_result`. */
const isServerStep = ({ type }: JsonObject): boolean =>
  typeof type === 'string' && type !== 'function_call' && /_(call|result)$/.test(type);
