import { identity } from 'rxjs';
import { fileCapability } from '../../core/capabilities.js';
import { mapChanged, type JsonValue } from '../../core/json/json.js';
import type { FilePart, Message, Part, ToolResultPart } from '../../core/message.js';
import type { Capabilities } from '../../core/model.js';
import type { ResultFilePlacement, Wire } from '../../protocol/wire.js';
import { inlineDataUrl } from './files.js';
import { fileItems, isFilePart, toolResultContent } from './toolResultContent.js';

/** A file that the model cannot read becomes a text, so that no run fails because a tool returned a file. */
export function placeResultFiles(
  { resultFile }: Pick<Wire, 'resultFile'>,
  capabilities: Capabilities,
): (message: Message) => Message {
  if (!resultFile) return identity;
  const placementOf = (file: FilePart): ResultFilePlacement => {
    const capability = fileCapability(file);
    return capability !== undefined && capabilities[capability] === false ? 'none' : resultFile(inlineDataUrl(file));
  };
  return (message) => (message.role === 'user' ? placeInMessage(message, placementOf) : message);
}

type PlacementOf = (file: FilePart) => ResultFilePlacement;

function placeInMessage(message: Message, placementOf: PlacementOf): Message {
  const moved: Part[] = [];
  const parts = mapChanged(message.parts, (part) =>
    part.type === 'toolResult' ? placeInResult(part, placementOf, moved) : part,
  );
  if (parts === message.parts) return message;
  const isResult = ({ type }: Part) => type === 'toolResult';
  return { ...message, parts: [...parts.filter(isResult), ...moved, ...parts.filter((part) => !isResult(part))] };
}

function placeInResult(part: ToolResultPart, placementOf: PlacementOf, moved: Part[]): ToolResultPart {
  if (part.error !== undefined) return part;
  const { name } = part;
  if (fileItems(part).every((file) => placementOf(file) === 'result')) return part;
  const contents = toolResultContent(part);
  const items = contents.map((content): JsonValue => {
    if (content.type === 'text') return content.text;
    switch (placementOf(content)) {
      case 'result':
        return { ...content };
      case 'none':
        return absentReference(content);
      case 'message': {
        const number = moved.length / 2 + 1; // `moved` has two parts for each file
        moved.push({ type: 'text', text: `File ${number}, from the result of the tool "${name}":` }, content);
        return `[File ${number}: ${describe(content)}. It is in the next message.]`;
      }
    }
  });
  const texts = items.filter((item) => typeof item === 'string');
  return { ...part, result: items.some(isFilePart) ? items : texts.join('\n') };
}

function absentReference(file: FilePart): string {
  const { url } = inlineDataUrl(file);
  return `[File: ${describe(file)}. It cannot be shown to this model.${url === undefined ? '' : ` Its URL: ${url}`}]`;
}

const describe = ({ name, mediaType }: FilePart): string => (name === undefined ? mediaType : `${name} (${mediaType})`);
