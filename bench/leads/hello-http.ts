// The upper limit of any node:http server: reads the body and returns as many bytes of JSON as its argument.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const body = JSON.stringify({ hello: "x".repeat(Number(process.argv[2]) - 12) });
const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(201, {
      "content-type": "application/json; charset=utf-8",
      "content-length": body.length,
    });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
