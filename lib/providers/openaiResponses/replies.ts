import { defined, objectOf, textOf } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';
import type { Part, TextPart } from '../../core/message.js';
import { provider } from './name.js';

/**
 * Answers the request of an MCP server's tool to be called (`mcp_approval_request`, told as metadata under `openai-responses`), in the next message:
 *
 * ```ts
 * agent.stream(userMessage([mcpApproval(request.id, true)]), { messages });
 * ```
 *
 * @param requestId The `id` of the request.
 * @param approve Whether the tool may be called. Default: true.
 * @param reason Why, for the model. Default: none is given.
 * @returns A part of a user's message. Other providers ignore it.
 */
export function mcpApproval(requestId: string, approve = true, reason?: string): TextPart {
  return reply(defined({ type: 'mcp_approval_response', approval_request_id: requestId, approve, reason }));
}

/**
 * What came of a command of the local shell (`local_shell_call`, told as metadata under `openai-responses` with its `action`), in the next message.
 *
 * @param callId The `call_id` of the call.
 * @param output What the command printed, or whatever the model should know of it.
 * @returns A part of a user's message. Other providers ignore it.
 */
export function localShellOutput(callId: string, output: string): TextPart {
  return reply({ type: 'local_shell_call_output', call_id: callId, output });
}

/** An input item of the Responses API, carried by a part that says nothing to anybody else. */
const reply = (item: JsonObject): TextPart => ({ type: 'text', text: '', providerData: { [provider]: { item } } });

/** The input items that a part of a user's message carries. */
export function repliesIn(part: Part): readonly JsonObject[] {
  const own = part.type === 'text' ? part.providerData?.[provider] : undefined;
  const item = objectOf(objectOf(own)['item']);
  return textOf(item['type']) === undefined ? [] : [item];
}
