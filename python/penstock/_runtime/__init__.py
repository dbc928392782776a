"""What joins the package and the engine: conversion, scopes, host calls, printing."""
