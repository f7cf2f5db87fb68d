import Foundation

/// A page's requests, and what a developer's console would show.
final class PageRecord {
  /// Errors and warnings of the console, failed requests, and violations of the content security policy, as text.
  private(set) var complaints: [String] = []
  /// The URLs of all requests in order, without those inside the page (`data:`, `blob:`).
  private(set) var requests: [String] = []
  /// The bytes of all answers so far as they were transferred: compressed, with their heads.
  private(set) var transferredBytes = 0
  /// The time of the last network event.
  private(set) var lastActivity = ContinuousClock.now
  private var underWay: [String: String] = [:]

  var isQuiet: Bool { underWay.isEmpty }
  var waiting: [String] { underWay.values.sorted() }

  func note(_ event: Browser.Event) {
    let parameters = event.parameters
    let request = parameters["requestId"] as? String ?? ""
    switch event.method {
    case "Network.requestWillBeSent":
      guard let url = (parameters["request"] as? [String: Any])?["url"] as? String,
        !url.hasPrefix("data:"), !url.hasPrefix("blob:")
      else { return }
      requests.append(url)
      underWay[request] = url
      lastActivity = .now
    case "Network.responseReceived":
      guard let response = parameters["response"] as? [String: Any] else { return }
      if let status = response["status"] as? Int, status >= 400 {
        complaints.append("\(status) for \(response["url"] ?? "")")
      }
    case "Network.loadingFinished":
      underWay[request] = nil
      transferredBytes += Int(parameters["encodedDataLength"] as? Double ?? 0)
      lastActivity = .now
    case "Network.loadingFailed":
      let url = underWay.removeValue(forKey: request)
      lastActivity = .now
      // Maps cancel requests for tiles that moved out of view.
      guard parameters["canceled"] as? Bool != true else { return }
      complaints.append("failed: \(url ?? request): \(parameters["errorText"] ?? "")")
    case "Runtime.consoleAPICalled":
      guard let type = parameters["type"] as? String, ["error", "warning", "assert"].contains(type) else { return }
      let values = (parameters["args"] as? [[String: Any]] ?? []).map { "\($0["value"] ?? $0["description"] ?? "")" }
      complaints.append("console \(type): \(values.joined(separator: " "))")
    case "Runtime.exceptionThrown":
      let details = parameters["exceptionDetails"] as? [String: Any] ?? [:]
      complaints.append(
        "exception: \((details["exception"] as? [String: Any])?["description"] ?? details["text"] ?? "")")
    case "Log.entryAdded":
      let entry = parameters["entry"] as? [String: Any] ?? [:]
      guard let level = entry["level"] as? String, ["error", "warning"].contains(level) else { return }
      let text = entry["text"] as? String ?? ""
      // Comes from the emulated graphics card while a screenshot is taken, not from the page.
      if entry["source"] as? String == "rendering", text.contains("GPU stall due to ReadPixels") { return }
      complaints.append("log \(level): \(text) \(entry["url"] ?? "")")
    case "Audits.issueAdded":
      let issue = parameters["issue"] as? [String: Any] ?? [:]
      complaints.append("issue: \(issue["code"] ?? "") \(issue["details"] ?? "")")
    default: break
    }
  }
}
