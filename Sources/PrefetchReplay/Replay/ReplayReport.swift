/// What a replay came to, session by session.
public struct ReplayReport: Hashable, Sendable {
  public struct Line: Hashable, Sendable {
    public var session: String
    public var score: ReplayScore

    public init(session: String, score: ReplayScore) {
      self.session = session
      self.score = score
    }
  }

  public var sessions: [Line]
  public var total: ReplayScore { sessions.reduce(ReplayScore()) { $0 + $1.score } }

  public init(sessions: [Line]) { self.sessions = sessions }
}
