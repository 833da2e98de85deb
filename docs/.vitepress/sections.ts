interface Section {
  readonly text: string;
  readonly pages: Readonly<Record<string, string>>;
}

/** The guides in the sidebar: the name of each file, and its title there. `npm run site` fails if one is missing. */
export const sections: readonly Section[] = [
  {
    text: 'Start',
    pages: {
      'first-agent': 'A first agent',
      'rxjs-in-ten-minutes': 'RxJS in ten minutes',
      questions: 'Questions',
    },
  },
  {
    text: 'Runs',
    pages: {
      agents: 'Agents and runs',
      cancelling: 'Stop and cancel',
      tools: 'Tools',
      'typed-output': 'Typed output',
      'sub-agents': 'Sub-agents',
      'memory-and-search': 'Memory and search',
      'tool-search': 'Tool search',
      mcp: 'MCP',
      checkpoints: 'Checkpoints',
      asking: 'A tool that asks',
      'background-tools': 'Work in the background',
      operators: 'Operators by hand',
      'write-an-operator': 'Write and test an operator',
      types: 'Types in your own code',
    },
  },
  {
    text: 'Models',
    pages: {
      providers: 'Providers',
      'local-servers': 'Local servers',
      clouds: 'Azure, Bedrock, Vertex',
      settings: 'Settings',
      'images-and-files': 'Images and files',
      'write-a-provider': 'Write a provider',
      fallbacks: 'When a provider fails',
      faults: 'Faults: what fails how',
      limits: 'Limits',
      'prompt-caching': 'Prompt caching',
      costs: 'Costs',
      errors: 'Errors',
    },
  },
  {
    text: 'Pages and services',
    pages: {
      views: 'Views and chats',
      chats: 'Chats on every device',
      angular: 'Angular',
      'other-frameworks': 'NgRx, React, Vue, Svelte',
      login: 'Login',
      'each-user': 'A model, a key, data for each user',
      'node-services': 'Node and other servers',
      'ag-ui': 'AG-UI',
      'use-chat': 'useChat',
      operating: 'Operating a service',
      'several-instances': 'Several instances',
      'durable-runs': 'Durable runs',
      postgresql: 'PostgreSQL',
      redis: 'Redis',
      'your-own-store': 'A store of your own',
      security: 'Security',
    },
  },
  {
    text: 'Look inside',
    pages: {
      testing: 'Testing',
      recording: 'Recordings',
      terminal: 'The terminal',
      observability: 'Observability',
      performance: 'Performance and size',
    },
  },
  {
    text: 'Come from',
    pages: {
      'migrate-from-ai-sdk': 'The AI SDK',
      'migrate-from-langchain': 'LangChain',
      'migrate-from-openai-sdk': 'The OpenAI SDK',
      'rxjs-9': 'The plan for RxJS 9',
    },
  },
];

/** The documents of the project, below the guides. Their pages are in projectPages.ts. */
export const projectSections: readonly Section[] = [
  {
    text: 'Examples',
    pages: {
      'project/terminal': 'An agent in the terminal',
      'project/page': 'A page in one file',
      'project/angular-chat': 'A chat in Angular',
      'project/node-service': 'A service in Node',
      'project/durable-service': 'A durable service',
      'project/nest-service': 'A service in Nest',
      'project/research': 'Research in three phases',
    },
  },
  {
    text: 'The project',
    pages: {
      'project/introduction': 'Introduction: is it for you?',
      'project/security': 'Security',
      'project/architecture': 'Architecture',
      'project/contributing': 'Contributing',
      'project/benchmark': 'The benchmark',
      'project/changelog': 'Changes',
    },
  },
];
