/** A chat in the list of its owner. */
export interface ChatSummary {
  readonly id: string;
  readonly title: string;
  /** When its content was last changed, in milliseconds since 1970. */
  readonly updated: number;
  /** 1 for a new chat; each change adds 1. */
  readonly version: number;
}

/** A page of the list of chats. */
export interface ChatPage {
  /** The one that was changed last is the first. */
  readonly chats: readonly ChatSummary[];
  /** Pass it to `list` for the next page. Absent after the last page. */
  readonly next?: string | undefined;
}
