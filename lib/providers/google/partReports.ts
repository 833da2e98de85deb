import type { Chunk } from '../../core/chunk.js';
import { asArray, isJsonObject, nonEmptyString, objectOrEmpty, omit } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { serverToolChunk } from '../../core/metadata.js';
import type { ServerTool } from '../../core/metadata.js';
import { unknownChunk } from '../shared/unknownChunk.js';

/** Reports, as metadata, what one response contains besides texts, calls of the user's functions and files. */
export interface PartReports {
  /** Reads the content of a part: its fields without those that describe it. */
  add(content: JsonObject): void;
  /**
   * Reads the final metadata of the candidate: its searches and the pages that it read. Call it at the end.
   *
   * @param candidate The metadata, by field of the candidate.
   */
  end(candidate: Readonly<Record<string, unknown>>): void;
  /** Whether a part of an unknown kind looks like a call of a tool that Google does not run. */
  readonly hasUnknownCall: boolean;
}

/**
 * Creates the reports of one response.
 *
 * Code and its result (`executableCode`, `codeExecutionResult`) and the calls of other tools that Google runs
 * (`toolCall`, `toolResponse`) become `serverTools`. Without these parts, which are sent only on request, the searches
 * and the pages that were read become `serverTools` at the end. Transcriptions become metadata, and a part of an
 * unknown kind becomes `unknown`.
 *
 * @param emit Receives the metadata.
 * @param responseId Returns the id of the response, which makes the ids of calls without one unique in a run.
 */
export function createPartReports(emit: (chunk: Chunk) => void, responseId: () => string | undefined): PartReports {
  const calls = new Map<string, Pick<ServerTool, 'id' | 'name' | 'input'>>();
  let executions = 0;
  let hasUnknownCall = false;

  const idFor = (name: string) => [responseId(), name].filter((text) => text !== undefined).join('_');
  const start = (call: Pick<ServerTool, 'id' | 'name' | 'input'>, raw: JsonObject) => {
    calls.set(call.id, call);
    emit(serverToolChunk({ ...call, status: 'running', raw }));
  };
  const complete = (id: string, name: string, result: Pick<ServerTool, 'status' | 'output'>, raw: JsonObject) =>
    emit(serverToolChunk({ id, name, ...calls.get(id), ...result, raw }));

  const addCode = (code: JsonObject, raw: JsonObject) => {
    executions += 1;
    const id = nonEmptyString(code['id']) ?? idFor(`code_execution_${executions}`);
    start({ id, name: 'code_execution', input: omit(code, 'id') }, raw);
  };
  const addCodeResult = (result: JsonObject, raw: JsonObject) => {
    const id = nonEmptyString(result['id']) ?? idFor(`code_execution_${Math.max(1, executions)}`);
    const status = result['outcome'] === 'OUTCOME_OK' ? 'completed' : 'failed';
    complete(id, 'code_execution', { status, output: omit(result, 'id') }, raw);
  };
  const addCall = (call: JsonObject, raw: JsonObject) =>
    start({ id: idOf(call), name: nameOf(call), input: call['args'] ?? {} }, raw);
  const addResponse = (response: JsonObject, raw: JsonObject) => {
    const status = objectOrEmpty(response['response'])['error'] === undefined ? 'completed' : 'failed';
    complete(idOf(response), nameOf(response), { status, output: response['response'] ?? null }, raw);
  };
  const addUnknown = (content: JsonObject) => {
    hasUnknownCall ||= Object.keys(content).some((field) => /call$/i.test(field));
    emit(unknownChunk(content));
  };

  return {
    add(content) {
      const { executableCode, codeExecutionResult, toolCall, toolResponse, audioTranscription } = content;
      if (isJsonObject(executableCode)) addCode(executableCode, content);
      else if (isJsonObject(codeExecutionResult)) addCodeResult(codeExecutionResult, content);
      else if (isJsonObject(toolCall)) addCall(toolCall, content);
      else if (isJsonObject(toolResponse)) addResponse(toolResponse, content);
      else if (audioTranscription !== undefined) emit({ type: 'metadata', metadata: { audioTranscription } });
      else addUnknown(content);
    },
    end({ groundingMetadata, urlContextMetadata }) {
      if ([...calls.values()].some(({ name }) => name !== 'code_execution')) return; // reported by their parts
      const grounding = objectOrEmpty(groundingMetadata);
      const queries = asArray(grounding['webSearchQueries']).filter((query) => typeof query === 'string');
      if (queries.length > 0) {
        const output = grounding['groundingChunks'] ?? [];
        const search = { id: idFor('google_search'), name: 'google_search', input: { queries }, output } as const;
        emit(serverToolChunk({ ...search, status: 'completed', raw: grounding }));
      }
      const pages = asArray(objectOrEmpty(urlContextMetadata)['urlMetadata']).filter(isJsonObject);
      if (pages.length > 0) {
        const urls = pages.map((page) => nonEmptyString(page['retrievedUrl']) ?? '');
        const status = pages.some(wasRead) ? 'completed' : 'failed';
        const reading = { id: idFor('url_context'), name: 'url_context', input: { urls }, output: pages } as const;
        emit(serverToolChunk({ ...reading, status, raw: objectOrEmpty(urlContextMetadata) }));
      }
    },
    get hasUnknownCall() {
      return hasUnknownCall;
    },
  };
}

const idOf = ({ id }: JsonObject): string => nonEmptyString(id) ?? '';

/** The name of a tool, from its type: `google_search_web` for `GOOGLE_SEARCH_WEB`. */
const nameOf = ({ toolType }: JsonObject): string => (nonEmptyString(toolType) ?? '').toLowerCase();

const wasRead = ({ urlRetrievalStatus }: JsonObject): boolean =>
  urlRetrievalStatus === undefined || urlRetrievalStatus === 'URL_RETRIEVAL_STATUS_SUCCESS';
