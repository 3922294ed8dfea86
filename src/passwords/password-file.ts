/**
 * A file of leaked passwords, as the downloader of Have I Been Pwned writes it: a line `SHA1:COUNT` for each, ordered by
 * hash. It has tens of gigabytes, so it is searched by halving, with reads of a few kilobytes.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { digestHex } from '../base/encoding.ts'
import { messageOf, Refusal } from '../base/errors.ts'

const LINE = /^([0-9A-F]{40})(?::\d{1,20})?\r?$/i
const HASH_LENGTH = 40
/** The size of one read: it holds at least one whole line, wherever it begins. */
const READ_BYTES = 4096

const NOT_A_FILE = 'expected lines with a SHA-1 hash, a colon and a number, ordered by hash'

/** Why a file cannot be used, as far as its first line says. */
export function checkPasswordFile(path: string): string | undefined {
  try {
    const bytes = Buffer.alloc(READ_BYTES)
    const file = openSync(path, 'r')
    const length = readSync(file, bytes)
    closeSync(file)
    const [line = ''] = bytes.toString('latin1', 0, length).split('\n', 1)
    return LINE.test(line) ? undefined : `${path}: ${NOT_A_FILE}`
  } catch (error) {
    return messageOf(error)
  }
}

/** Throws a Refusal if the file cannot be searched: a password that cannot be checked is not accepted. */
export async function isInPasswordFile(path: string, password: string): Promise<boolean> {
  try {
    await using file = await open(path)
    return await findHash(file, digestHex('sha1', password).toUpperCase())
  } catch (error) {
    throw new Refusal('password_check_failed', { detail: messageOf(error), cause: error })
  }
}

/** Halves the range of bytes in which the line of the hash begins, until one read covers it. */
async function findHash(file: FileHandle, hash: string): Promise<boolean> {
  let first = 0
  let end = (await file.stat()).size
  while (end - first > READ_BYTES / 2) {
    const middle = Math.floor((first + end) / 2)
    const [line] = await readLines(file, middle)
    if (line === undefined || line.start >= end) end = middle
    else if (line.hash === hash) return true
    else if (line.hash < hash) first = line.start
    else end = middle
  }
  return (await readLines(file, first)).some((line) => line.hash === hash)
}

/** The whole lines of one read. From the middle of a line, the first is the one after it. */
async function readLines(file: FileHandle, from: number) {
  // the byte before tells whether a line begins here
  const position = Math.max(from - 1, 0)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES, position)
  const text = buffer.toString('latin1', 0, bytesRead)
  const end = bytesRead < READ_BYTES ? text.length : text.lastIndexOf('\n')
  const lines = [...text.slice(0, Math.max(end, 0)).matchAll(/(?<=^|\n)[^\n]+/g)]
  if (end < 0 || lines.some(({ 0: line, index }) => index > 0 && !LINE.test(line))) throw new Error(NOT_A_FILE)
  return lines
    .filter(({ index }) => from === 0 || index > 0)
    .map(({ 0: line, index }) => ({ hash: line.slice(0, HASH_LENGTH).toUpperCase(), start: position + index }))
}
