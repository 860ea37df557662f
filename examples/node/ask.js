'use strict';

// Asks a server a number of times, one request after the other, and prints how long each took.

const http = require('node:http');
const agent = new http.Agent({ keepAlive: true });

function ask(url) {
  return new Promise((resolve, reject) => {
    const begin = process.hrtime.bigint();
    http
      .get(url, { agent }, (response) => {
        response.resume();
        response.on('end', () => resolve(Number(process.hrtime.bigint() - begin)));
      })
      .on('error', reject);
  });
}

async function main() {
  const took = [];
  for (let i = 0; i < 500; i++) took.push(await ask(process.argv[2] + '/sort/merge/heap'));
  took.sort((a, b) => a - b);
  console.log('median', took[took.length >> 1], 'ns');
  agent.destroy();
}

main();
