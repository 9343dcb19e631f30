// What is used of BullMQ. Its own types are there only once the benches' dependencies are installed.
declare module "bullmq" {
  type Connection = { readonly host: string; readonly port: number };

  export class Queue<Data> {
    constructor(name: string, options: { connection: Connection });
    addBulk(jobs: readonly { name: string; data: Data }[]): Promise<unknown>;
    pause(): Promise<void>;
    resume(): Promise<void>;
    obliterate(options: { force: boolean }): Promise<void>;
  }

  export class Worker<Data> {
    constructor(
      name: string,
      process: (job: { data: Data }) => Promise<unknown>,
      options: { connection: Connection & { maxRetriesPerRequest: null }; concurrency: number },
    );
    on(event: "completed", heard: () => void): this;
    on(event: "failed", heard: (job: unknown, error: Error) => void): this;
    on(event: "error", heard: (error: Error) => void): this;
    waitUntilReady(): Promise<unknown>;
  }
}
