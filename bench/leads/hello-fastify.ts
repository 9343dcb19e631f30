// The upper limit of any Fastify server: accepts a JSON body and returns as many bytes of JSON as its argument.
import Fastify from "fastify";

const body = JSON.stringify({ hello: "x".repeat(Number(process.argv[2]) - 12) });
const server = Fastify();
server.post("*", (_request, reply) => {
  void reply.code(201).header("content-type", "application/json; charset=utf-8").send(body);
});
console.log(await server.listen({ host: "127.0.0.1", port: 0 }));
