// Sign in, show who is signed in, sign out. Text from the server is only ever set as text.
const API = '/_cardea/api'
const RELOADED = 'cardea-reloaded'

const find = (id) => document.getElementById(id)
const readMeta = (name) => document.querySelector(`meta[name="cardea-${name}"]`)?.content ?? ''
const pageToken = readMeta('page-token')

/** A request to the API. The page token shows that it comes from this page and not from another of this origin. */
async function ask(method, path, body) {
  const response = await fetch(`${API}${path}`, {
    method,
    headers: {
      'X-Cardea-Control': '1',
      ...(pageToken && { 'X-Cardea-Page-Token': pageToken }),
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.reason)
  return answer
}

function show(id) {
  for (const part of ['loading', 'closed', 'sign-in', 'account']) find(part).hidden = part !== id
  document.querySelector('main').removeAttribute('aria-busy')
}

function showProblem(id, text) {
  const place = find(id)
  place.textContent = text
  place.hidden = text === ''
}

/** Delivers the page again, now with the session: only a page of a navigation carries the token. */
const reload = () => location.replace('/_cardea/')

async function signIn(event) {
  event.preventDefault()
  const form = new FormData(find('sign-in'))
  const code = String(form.get('code')).trim()
  const button = find('sign-in').querySelector('button')
  button.disabled = true
  showProblem('problem', '')
  try {
    await ask('POST', '/session', { name: form.get('name'), password: form.get('password'), ...(code && { code }) })
    reload()
  } catch (error) {
    showProblem('problem', error.message)
    button.disabled = false
    find('password').focus()
  }
}

async function signOut() {
  try {
    await ask('DELETE', '/session')
    reload()
  } catch (error) {
    showProblem('account-problem', error.message)
  }
}

async function showAccount({ name, isAdministrator, server }) {
  find('account-name').textContent = name
  find('account-role').textContent = isAdministrator ? 'administrator' : 'user'
  find('account-server').textContent = server
  show('account')
}

/** A page that another site linked to is delivered without the session. The second delivery has it. */
function reloadOnce() {
  if (sessionStorage.getItem(RELOADED) !== null) return false
  sessionStorage.setItem(RELOADED, '1')
  reload()
  return true
}

async function start() {
  find('sign-in').addEventListener('submit', signIn)
  find('sign-out').addEventListener('click', signOut)
  if (readMeta('sign-in') === 'closed') return show('closed')
  const session = await ask('GET', '/session')
  if (session.name !== null && pageToken === '' && reloadOnce()) return
  sessionStorage.removeItem(RELOADED)
  if (session.name !== null) return showAccount(session)
  show('sign-in')
  find('name').focus()
}

start().catch((error) => {
  show('sign-in')
  showProblem('problem', error.message)
})
