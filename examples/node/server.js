'use strict';

// Answers every request after counting some words; listens where it is told.

const http = require('node:http');

http
  .createServer((request, response) => {
    let n = 0;
    for (const word of request.url.split(/[^a-z]+/)) n += word.length;
    response.end(String(n));
  })
  .listen(Number(process.argv[2]), '127.0.0.1');
