import { asArray, finiteNumber, isJsonObject, isRecord, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { FilePart, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { storedData } from '../../core/providerPart.js';
import { resultText } from '../shared/encode.js';
import { toolResultContent, unsupportedResultFileError, type ToolResultContent } from '../shared/toolResultContent.js';
import { encodeContent, isAudioOrVideo } from './files.js';
import { provider } from './models.js';

/** The API has a field for the failure of a patch only; any other failure is sent as text. */
export function encodeResult(part: ToolResultPart, call: ToolCallPart | undefined, callId: string): JsonObject {
  const { type, caller } = storedData(call, provider);
  const identity = omitUndefined({ call_id: callId, caller });
  switch (type) {
    case 'custom_tool_call':
      return { type: 'custom_tool_call_output', ...identity, output: encodeOutput(part) };
    case 'shell_call': {
      const limit = finiteNumber(call?.arguments['max_output_length']);
      const limitField = omitUndefined({ max_output_length: limit });
      return { type: 'shell_call_output', ...identity, ...limitField, output: encodeShellOutputs(part) };
    }
    case 'local_shell_call':
      return { type: 'local_shell_call_output', call_id: callId, output: resultText(part) };
    case 'apply_patch_call': {
      const { error } = part;
      const status = error === undefined ? 'completed' : 'failed';
      return { type: 'apply_patch_call_output', ...identity, status, output: error ?? resultText(part) };
    }
    case 'tool_search_call': {
      const tools = asArray(part.result).filter(isJsonObject);
      const status = part.error === undefined ? 'completed' : 'incomplete';
      return { type: 'tool_search_output', call_id: callId, execution: 'client', status, tools };
    }
    case 'computer_call':
      return encodeScreenshot(part, callId);
    default:
      return { type: 'function_call_output', ...identity, output: encodeOutput(part) };
  }
}

/** `ResponseFunctionCallOutputItem` (SDK openai 7.57). */
function encodeOutput(part: ToolResultPart): string | readonly JsonObject[] {
  const contents = toolResultContent(part);
  const [first] = contents;
  if (contents.length === 1 && first?.type === 'text') return first.text;
  return contents.flatMap((content) => encodeResultContent(content, part.name));
}

function encodeResultContent(content: ToolResultContent, tool: string): readonly JsonObject[] {
  if (content.type === 'file' && isAudioOrVideo(content)) throw unsupportedResultFileError(provider, tool, content);
  return encodeContent(content);
}

/** Any other result is the text of the standard output, an error that of the error output. */
function encodeShellOutputs(part: ToolResultPart): readonly JsonObject[] {
  const outputs = asArray(part.result).filter(isRecord);
  const isList = outputs.length > 0 && outputs.every(({ exitCode }) => exitCode !== undefined);
  if (isList) return outputs.map(encodeShellOutput);
  const [stdout, stderr] = part.error === undefined ? [resultText(part), ''] : ['', part.error];
  return [{ stdout, stderr, outcome: { type: 'exit', exit_code: part.error === undefined ? 0 : 1 } }];
}

function encodeShellOutput({ stdout, stderr, exitCode }: Record<string, unknown>): JsonObject {
  const code = finiteNumber(exitCode);
  const outcome: JsonObject = code === undefined ? { type: 'timeout' } : { type: 'exit', exit_code: code };
  return { stdout: nonEmptyString(stdout) ?? '', stderr: nonEmptyString(stderr) ?? '', outcome };
}

/** The output has to be an image: a failure becomes a message, and the unanswered call is omitted. */
function encodeScreenshot(part: ToolResultPart, callId: string): JsonObject {
  const result: JsonValue = part.result ?? null;
  const { screenshot = result, acknowledged } = isJsonObject(result) ? result : {};
  const image = toolResultContent({ type: 'toolResult', id: part.id, name: part.name, result: screenshot }).find(
    (content): content is FilePart => content.type === 'file',
  );
  if (!image) {
    const text = `The computer call failed: ${part.error ?? 'it resulted in no screenshot'}.`;
    return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
  }
  const checks = asArray(acknowledged).filter(isJsonObject);
  const [{ image_url = null } = {}] = encodeContent(image);
  return omitUndefined({
    type: 'computer_call_output',
    call_id: callId,
    output: { type: 'computer_screenshot', image_url },
    acknowledged_safety_checks: checks.length > 0 ? checks : undefined,
  });
}
