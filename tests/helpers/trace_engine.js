// The engine of the Perfetto UI in Node, on a pipe: `node trace_engine.js FOLDER`.
// FOLDER holds engine_bundle.js and the wasm that it loads. Input: frames of a length (u32, little
// endian) and a TraceProcessorRpcStream. Output: frames of a reply; one of no bytes ends a request.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2];
const replies = [];
const port = { postMessage: (bytes) => replies.push(bytes) };

class FileRequest {
  open(_, url) {
    this.file = path.join(folder, path.basename(url));
  }
  send() {
    const bytes = fs.readFileSync(this.file);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    this.status = 200;
  }
}
// What the bundle finds in a worker of a browser, and what it must not find: Node's own.
const nothing = () => {};
const around = {
  self: { location: { href: "" } },
  location: { href: "" },
  console: { log: nothing, warn: nothing, error: nothing },
  XMLHttpRequest: FileRequest,
  importScripts: nothing,
  WorkerGlobalScope: nothing,
  process: undefined,
  require: undefined,
  fetch: undefined,
};
const bundle = path.join(folder, "engine_bundle.js");
const run = vm.compileFunction(fs.readFileSync(bundle, "utf8"), Object.keys(around));
run(...Object.values(around));
around.self.onmessage({ data: port });

function read(length) {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const count = fs.readSync(0, bytes, at, length - at);
    if (count === 0) process.exit(0);
    at += count;
  }
  return bytes;
}

function write(bytes) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  for (const part of [length, bytes])
    for (let at = 0; at < part.length; ) at += fs.writeSync(1, part, at, part.length - at);
}

function serve() {
  for (;;) {
    const length = Buffer.from(read(4)).readUInt32LE();
    port.onmessage({ data: read(length) });
    for (const reply of replies.splice(0)) write(reply);
    write(new Uint8Array(0));
  }
}
// After what the bundle still has to do: it compiles the wasm, and then says that it can begin.
setTimeout(serve, 0);
