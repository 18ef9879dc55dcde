package proxy

import "net/http"

// resetBefore resets the connection; the API server never hears of the request.
type resetBefore struct{ quiet }

func (f *resetBefore) before(x *exchange, _ *hit) progress {
	x.reset()
	return answered
}

// resetAfter resets the connection when the API server has answered: the effect
// has happened, and the client cannot know.
type resetAfter struct{ quiet }

func (f *resetAfter) after(x *exchange, _ *hit, answer *http.Response) {
	answer.Body.Close()
	x.reset()
}
