// The used part of BullMQ's types, which exist only after the benchmarks' dependencies are installed.
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
    on(event: "completed", listener: () => void): this;
    on(event: "failed", listener: (job: unknown, error: Error) => void): this;
    on(event: "error", listener: (error: Error) => void): this;
    waitUntilReady(): Promise<unknown>;
  }
}
