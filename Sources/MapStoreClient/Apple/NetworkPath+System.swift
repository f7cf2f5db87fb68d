#if canImport(Network)
  public import Network

  extension NetworkPath {
    /// The system's path: cellular networks and hotspots are expensive, Low Data Mode constrains.
    public init(_ path: NWPath) {
      self.init(
        isConnected: path.status == .satisfied, isMetered: path.isExpensive, isConstrained: path.isConstrained)
    }
  }

  extension TransferControl {
    /// Sets ``network`` from the system, until its task is cancelled; an app begins it when it starts.
    public func followSystem() async {
      for await path in NWPathMonitor() { network = NetworkPath(path) }
    }
  }
#endif
