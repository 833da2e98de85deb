import type { IncomingMessage, ServerResponse } from 'node:http';
import { All, Controller, Inject, Module, Req, Res } from '@nestjs/common';
import type { BeforeApplicationShutdown, DynamicModule } from '@nestjs/common';
import { agentHandler, nodeListener } from 'rivulet/service';
import type { AgentHandler, AgentHandlerOptions, HandledAgent } from 'rivulet/service';

// The module to copy. Import it with `ChatModule.register(agent, { context: (request) => user, owner: ({ id }) => id })`.

const HANDLER = Symbol('handler');

@Controller('api/chat')
class ChatController implements BeforeApplicationShutdown {
  private readonly listener: ReturnType<typeof nodeListener>;

  constructor(@Inject(HANDLER) private readonly handler: AgentHandler) {
    this.listener = nodeListener(handler);
  }

  @All()
  answer(@Req() request: IncomingMessage, @Res() response: ServerResponse): void {
    this.listener(request, response);
  }

  /** Nest closes the HTTP server after this, and it waits for the connections. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.handler.shutdown().forEach(() => undefined);
  }
}

/** Serves an agent at `/api/chat`. */
@Module({ controllers: [ChatController] })
export class ChatModule {
  /**
   * @param agent The agent.
   * @param options `context` says who asks: its value reaches the tools, and a request for which it throws is refused.
   * `owner` says whose run it is: nobody else can join, stop or answer it.
   */
  static register<C>(agent: HandledAgent<C>, options: AgentHandlerOptions<C>): DynamicModule {
    return { module: ChatModule, providers: [{ provide: HANDLER, useValue: agentHandler(agent, options) }] };
  }
}
