import type { JsonObject } from '../../core/json/json.js';

/** The options of web search. */
export interface WebSearchOptions {
  /** The only domains to search, without `https://`; subdomains are included. Default: all. */
  readonly allowedDomains?: readonly string[] | undefined;
  /** How much of the results the model reads. Default: the API's default, `medium`. */
  readonly contextSize?: 'low' | 'medium' | 'high' | undefined;
  /** The user's approximate location. Country: two letters; time zone: its IANA name. Default: not sent. */
  readonly location?:
    | { readonly city?: string; readonly region?: string; readonly country?: string; readonly timezone?: string }
    | undefined;
  /** Whether the metadata lists all visited pages, not only the cited pages. Default: false. */
  readonly sources?: boolean | undefined;
}

/** The options of file search. */
export interface FileSearchOptions {
  /** The ids of the vector stores that contain the files. */
  readonly vectorStoreIds: readonly string[];
  /** A filter on the files' attributes: `{ type: 'eq', key: 'year', value: 2024 }`. Default: none. */
  readonly filters?: JsonObject | undefined;
  /** The maximum number of passages, 1 to 50. Default: the API's default. */
  readonly maxResults?: number | undefined;
  /** The ranker, which scores the passages. Default: the API's default, `auto`. */
  readonly ranker?: string | undefined;
  /** The minimum score of a passage, 0 to 1. Default: the API's default. */
  readonly scoreThreshold?: number | undefined;
  /** Whether the metadata lists the passages that were found. Default: false. */
  readonly results?: boolean | undefined;
}

/** The options of the code interpreter. */
export interface CodeInterpreterOptions {
  /** The id of an existing container. Default: the container of the conversation's earlier code, or a new one. */
  readonly container?: string | undefined;
  /** The ids of uploaded files for a new container. Default: none. */
  readonly fileIds?: readonly string[] | undefined;
  /** The memory of a new container. Default: the API's default, `1g`. */
  readonly memoryLimit?: '1g' | '4g' | '16g' | '64g' | undefined;
  /** Whether the output of the code is returned: images as files, logs in the metadata. Default: true. */
  readonly outputs?: boolean | undefined;
}

/** The options of image generation. Omitted options keep the API's defaults. */
export interface ImageGenerationOptions {
  /** The image model. */
  readonly model?: string | undefined;
  /** Whether to create a new image or to edit an image of the conversation. */
  readonly action?: 'generate' | 'edit' | 'auto' | undefined;
  /** Width and height in pixels (`1024x1536`), or `auto`. */
  readonly size?: string | undefined;
  readonly quality?: 'low' | 'medium' | 'high' | 'auto' | undefined;
  readonly format?: 'png' | 'webp' | 'jpeg' | undefined;
  /** The compression level, 0 to 100, for `webp` and `jpeg`. */
  readonly compression?: number | undefined;
  readonly background?: 'transparent' | 'opaque' | 'auto' | undefined;
  readonly moderation?: 'auto' | 'low' | undefined;
  /** How closely the output follows the input images. */
  readonly inputFidelity?: 'high' | 'low' | undefined;
  /** The number of partial images (previews), 0 to 3. */
  readonly partialImages?: number | undefined;
}

/** The options of a remote MCP server (`serverUrl`) or of an OpenAI connector (`connectorId`). */
export type McpOptions = {
  /** The server's name in calls and approval requests. */
  readonly serverLabel: string;
  /** The purpose of the server, for the model. Default: not sent. */
  readonly description?: string | undefined;
  /** The only tools that the model may call. Default: all. */
  readonly allowedTools?: readonly string[] | undefined;
  /** Which calls require an approval: all, none, or those of the named tools. Default: the API's default, `always`. */
  readonly requireApproval?:
    | 'always'
    | 'never'
    | { readonly always?: readonly string[]; readonly never?: readonly string[] }
    | undefined;
  /** The headers for the server. OpenAI does not store them, and no error contains them. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** An OAuth access token for the server. No error contains it. Default: none. */
  readonly authorization?: string | undefined;
} & (
  | { readonly serverUrl: string; readonly connectorId?: never }
  | { /** The connector's id, such as `connector_gmail`. */ readonly connectorId: string; readonly serverUrl?: never }
);
