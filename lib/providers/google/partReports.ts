import { asArray, isJsonObject, nonEmptyString, objectOrEmpty, omit, type JsonObject } from '../../core/json/json.js';
import { serverToolChunk, type ServerTool } from '../../core/metadata.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';
import { unknownChunk } from '../shared/unknownChunk.js';

type Call = Pick<ServerTool, 'id' | 'name' | 'input'>;

/** Code and calls are sent only on request; without them, searches and read pages are reported at the end. */
export class PartReports {
  /** Makes the ids of calls without one unique in a run. */
  responseId: string | undefined;
  hasUnknownCall = false;
  private executions = 0;
  private calls: Map<string, Call> | undefined;

  constructor(private readonly emitter: ChunkReceiver) {}

  add(content: JsonObject): void {
    const { executableCode, codeExecutionResult, toolCall, toolResponse, audioTranscription } = content;
    if (isJsonObject(executableCode)) this.addCode(executableCode, content);
    else if (isJsonObject(codeExecutionResult)) this.addCodeResult(codeExecutionResult, content);
    else if (isJsonObject(toolCall))
      this.start({ id: readId(toolCall), name: readName(toolCall), input: toolCall['args'] ?? {} }, content);
    else if (isJsonObject(toolResponse)) this.addResponse(toolResponse, content);
    else if (audioTranscription !== undefined)
      this.emitter.emit({ type: 'metadata', metadata: { audioTranscription } });
    else this.addUnknown(content);
  }

  end({ groundingMetadata, urlContextMetadata }: Readonly<Record<string, unknown>>): void {
    const calls = [...(this.calls?.values() ?? [])];
    if (calls.some(({ name }) => name !== 'code_execution')) return; // reported by their parts
    const grounding = objectOrEmpty(groundingMetadata);
    const queries = asArray(grounding['webSearchQueries']).filter((query) => typeof query === 'string');
    if (queries.length > 0) {
      const output = grounding['groundingChunks'] ?? [];
      const search = { id: this.idFor('google_search'), name: 'google_search', input: { queries }, output } as const;
      this.emitter.emit(serverToolChunk({ ...search, status: 'completed', raw: grounding }));
    }
    const pages = asArray(objectOrEmpty(urlContextMetadata)['urlMetadata']).filter(isJsonObject);
    if (pages.length > 0) {
      const urls = pages.map((page) => nonEmptyString(page['retrievedUrl']) ?? '');
      const status = pages.some(wasRead) ? 'completed' : 'failed';
      const reading = { id: this.idFor('url_context'), name: 'url_context', input: { urls }, output: pages } as const;
      this.emitter.emit(serverToolChunk({ ...reading, status, raw: objectOrEmpty(urlContextMetadata) }));
    }
  }

  private addCode(code: JsonObject, raw: JsonObject): void {
    this.executions += 1;
    const id = nonEmptyString(code['id']) ?? this.idFor(`code_execution_${this.executions}`);
    this.start({ id, name: 'code_execution', input: omit(code, 'id') }, raw);
  }

  private addCodeResult(result: JsonObject, raw: JsonObject): void {
    const id = nonEmptyString(result['id']) ?? this.idFor(`code_execution_${Math.max(1, this.executions)}`);
    const status = result['outcome'] === 'OUTCOME_OK' ? 'completed' : 'failed';
    this.complete(id, 'code_execution', { status, output: omit(result, 'id') }, raw);
  }

  private addResponse(response: JsonObject, raw: JsonObject): void {
    const status = objectOrEmpty(response['response'])['error'] === undefined ? 'completed' : 'failed';
    this.complete(readId(response), readName(response), { status, output: response['response'] ?? null }, raw);
  }

  private addUnknown(content: JsonObject): void {
    this.hasUnknownCall ||= Object.keys(content).some((field) => /call$/i.test(field));
    this.emitter.emit(unknownChunk(content));
  }

  private start(call: Call, raw: JsonObject): void {
    this.calls ??= new Map();
    this.calls.set(call.id, call);
    this.emitter.emit(serverToolChunk({ ...call, status: 'running', raw }));
  }

  private complete(id: string, name: string, result: Pick<ServerTool, 'status' | 'output'>, raw: JsonObject): void {
    this.emitter.emit(serverToolChunk({ id, name, ...this.calls?.get(id), ...result, raw }));
    this.calls?.set(id, { id, name: this.calls.get(id)?.name ?? name }); // another result does not repeat the input
  }

  private idFor(name: string): string {
    // Google's have 22 characters. A longer one is not repeated for each call.
    return this.responseId === undefined ? name : `${this.responseId.slice(0, 200)}_${name}`;
  }
}

const readId = ({ id }: JsonObject): string => nonEmptyString(id) ?? '';

const readName = ({ toolType }: JsonObject): string => (nonEmptyString(toolType) ?? '').toLowerCase();

export const wasRead = ({ urlRetrievalStatus }: Readonly<Record<string, unknown>>): boolean =>
  urlRetrievalStatus === undefined || urlRetrievalStatus === 'URL_RETRIEVAL_STATUS_SUCCESS';
