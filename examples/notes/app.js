// Notes that work offline: they are kept in the browser, and PouchDB syncs them with the database of the signed-in user
// through Cardea.
import { createClient } from 'cardea/client'
import PouchDB from 'pouchdb-browser'

const client = createClient({ url: '/' })
const find = (id) => document.getElementById(id)
const [form, notes, list, editor, text] = ['sign-in', 'notes', 'list', 'editor', 'text'].map(find)

/** What belongs to the user whose notes are shown. */
let open
/** The note in the editor, as it is stored. */
let note
/** The timer that saves what was typed, and the end of the last save. */
let saving
let saved = Promise.resolve()

// ---- the user

function showUser({ name, id = name }) {
  form.hidden = true
  if (open?.id !== id) {
    closeUser()
    // not by the name, which a later user may have
    const local = new PouchDB(`notes-${id}`)
    open = { id, name, local, feed: local.changes({ live: true, since: 'now' }).on('change', showNotes) }
    find('user').textContent = name
    find('sign-out').hidden = false
    notes.hidden = false
    showNotes()
  }
  if (!open.sync) startSync()
}

/** Stops what runs for the user. Notes stay on the device. */
function closeUser() {
  showNote(undefined)
  open?.sync?.cancel()
  open?.feed.cancel()
  open = undefined
  find('user').textContent = ''
  find('sign-out').hidden = true
  notes.hidden = true
  showStatus('')
}

/** If a session has ended by itself, the notes of its user stay open. */
async function showSignIn() {
  const reason = 'Your session has ended. Your notes are on this device: sign in to sync them again.'
  find('reason').textContent = open ? reason : ''
  if (open) showStatus('Not syncing')
  find('problem').textContent = ''
  form.elements.name.value = open?.name ?? ''
  form.hidden = false
  const providers = await client.providers().catch(() => [])
  find('providers').replaceChildren(
    ...providers.map(({ name, label }) => {
      const button = Object.assign(document.createElement('button'), { type: 'button' })
      button.textContent = `Sign in with ${label}`
      button.onclick = () => client.signInWith(name, { next: location.pathname })
      return button
    }),
  )
}

/** What a result that is no success means for the user. */
const PROBLEMS = {
  name_taken: () => 'This name is taken.',
  rejected: ({ reason }) => reason,
  wrong_password: () => 'The name or the password is wrong.',
  code_required: () => 'This account needs a one-time code, which this example does not ask for.',
  locked: ({ retryAfter }) => `Too many attempts. Try again in ${retryAfter} seconds.`,
}

async function signIn(isNew) {
  const { name, password } = Object.fromEntries(new FormData(form))
  const signedUp = isNew ? await client.signUp(name, password) : undefined
  const problem = PROBLEMS[signedUp?.status]?.(signedUp)
  if (problem) return problem
  const result = await client.signIn({ name, password })
  return PROBLEMS[result.status]?.(result)
}

form.onsubmit = async (event) => {
  event.preventDefault()
  const problem = await signIn(event.submitter?.value === 'sign-up').catch(({ message }) => message)
  find('problem').textContent = problem ?? ''
  if (!problem) form.reset()
}

/** Removes the notes from this device, so only when they are on the server. */
find('sign-out').onclick = async () => {
  save()
  await saved
  const { local, remote } = open
  // requests of a session that has ended would wait for the next sign-in
  const isStored = form.hidden && remote && (await local.replicate.to(remote).catch(() => undefined))
  if (!isStored && !confirm('Some notes are not synced yet. Sign out and lose them?')) return
  try {
    await client.signOut()
    await local.destroy()
  } catch {
    showStatus('Offline')
  }
}

client.onChange((change, session) => {
  if (change === 'signed_in') showUser(session)
  if (change === 'signed_out') closeUser()
  if (session === null) showSignIn()
})

// ---- syncing

/** Looks for the user's database until the server can be reached. From then on PouchDB tries again by itself. */
async function findRemote(current) {
  const url = await client.database().catch(({ status }) => (status === 401 ? null : undefined))
  if (open !== current || current.remote) return
  if (url) current.remote = new PouchDB(url, { fetch: client.fetch, skip_setup: true })
  else showStatus(url === null ? 'Not syncing' : 'Offline')
  if (url === undefined) setTimeout(() => open === current && startSync(), 5000)
}

/** PouchDB waits longer and longer before it tries again, so a network that is back starts it at once. */
async function startSync() {
  const current = open
  showStatus('Syncing')
  if (!current.remote) await findRemote(current)
  if (open !== current || !current.remote) return
  current.sync?.cancel()
  const sync = current.local.sync(current.remote, { live: true, retry: true })
  current.sync = sync
  sync.pull.on('paused', (error) => {
    current.isDown = Boolean(error)
  })
  sync.on('active', () => showStatus('Syncing'))
  sync.on('paused', () => showStatus(current.isDown || !navigator.onLine ? 'Offline' : 'Synced'))
  sync.on('error', () => {
    current.sync = undefined
    showStatus('Not syncing')
  })
}

function showStatus(status) {
  find('status').textContent = status
  find('status').dataset.status = status
}

addEventListener('offline', () => showStatus('Offline'))
addEventListener('online', async () => {
  if ((await client.session().catch(() => open)) && open) startSync()
})

// ---- notes

const titleOf = ({ text: all }) => all.trim().split('\n', 1)[0] || 'New note'

async function showNotes() {
  if (!open) return
  const { rows } = await open.local.allDocs({ include_docs: true })
  const all = rows.map(({ doc }) => doc).sort((a, b) => b.changedAt.localeCompare(a.changedAt))
  const current = all.find(({ _id }) => _id === note?._id)
  // it was changed in another tab or on another device; what is typed here and not saved yet wins
  if (current && text.value === note.text) {
    note = current
    text.value = note.text
  }
  if (note && !note.isNew && !current) return showNote(undefined)
  list.replaceChildren(...all.map(toRow))
  find('empty').hidden = all.length > 0
}

function toRow(each) {
  const button = Object.assign(document.createElement('button'), { type: 'button', onclick: () => showNote(each) })
  const time = document.createElement('time')
  button.append(titleOf(each), time)
  time.textContent = new Date(each.changedAt).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })
  if (each._id === note?._id) button.setAttribute('aria-current', 'true')
  const row = document.createElement('li')
  row.append(button)
  return row
}

function showNote(shown) {
  save()
  note = shown
  editor.hidden = !shown
  notes.classList.toggle('has-note', Boolean(shown))
  text.value = shown?.text ?? ''
  if (shown) text.focus()
  showNotes()
}

function save() {
  if (!saving) return
  clearTimeout(saving)
  saving = undefined
  const [{ local }, edited, value] = [open, note, text.value]
  saved = saved.then(async () => {
    await store(local, edited._id, { text: value, changedAt: new Date().toISOString() })
    Object.assign(edited, { text: value, isNew: false })
  })
}

/** Again if the note was changed by a sync meanwhile. */
async function store(local, _id, changed) {
  const before = await local.get(_id).catch(() => ({ _id }))
  const isDone = await local.put({ ...before, ...changed }).catch(({ name }) => name !== 'conflict')
  if (!isDone) await store(local, _id, changed)
}

text.oninput = () => {
  clearTimeout(saving)
  saving = setTimeout(save, 300)
}
addEventListener('pagehide', save)
find('new').onclick = () => showNote({ _id: crypto.randomUUID(), text: '', isNew: true })
find('back').onclick = () => showNote(undefined)
find('delete').onclick = async () => {
  const [{ local }, { _id }] = [open, note]
  showNote(undefined)
  await saved
  const stored = await local.get(_id).catch(() => undefined)
  if (stored) await local.remove(stored)
}

// ---- start: first with what is known here, then with what the server says

navigator.serviceWorker?.register('service-worker.js')
const known = await client.session({ cached: true })
if (known) showUser(known)
const session = await client.session().catch(() => known)
if (session) showUser(session)
else if (form.hidden) await showSignIn()
