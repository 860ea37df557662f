'use strict';

// Counts words in two ways; started with the way and the number of words.

const vocabulary = ['sort', 'merge', 'heap', 'queue', 'cache', 'branch', 'cycle', 'page'];

function text(words) {
  const parts = [];
  for (let i = 0; i < words; i++) parts.push(vocabulary[(i * i) % vocabulary.length] + (i % 7 === 0 ? ',' : ''));
  return parts.join(' ');
}

function countRegex(s) {
  const counts = new Map();
  for (const [word] of s.matchAll(/[a-z]+/g)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function countSplit(s) {
  const counts = new Map();
  for (const token of s.split(' ')) {
    const word = token.replace(/[^a-z]/g, '');
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

const ways = { regex: countRegex, split: countSplit };
const [way, words] = [process.argv[2], Number(process.argv[3])];
const input = text(words);
let total = 0;
for (let round = 0; round < 40; round++) {
  for (const n of ways[way](input).values()) total += n;
}
console.log(total, 'words');
